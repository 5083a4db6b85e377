"""Prints `N passed, N failed, N skipped` for a meson test run, counting the cases inside GoogleTest programs and
those of pytest.

usage: count_tests.py testlog.json

The tests that failed are named before it, with their failed cases, a line each: `failed: TEST CASE...`. Any other test
counts as one. A program that dies counts as failed even when all the cases it reached passed, and the
cases it never reached count as failed too. Exits 1 when something failed or nothing ran.
"""
import json
import re
import sys

CASE = re.compile(r"\[\s*(OK|FAILED|SKIPPED)\s*\] .*\(\d+ ms\)")
ANNOUNCED = re.compile(r"\[==========\] Running (\d+) tests? from")
FAILED_CASE = re.compile(r"\[\s*FAILED\s*\] (\S+?),? .*\(\d+ ms\)|^FAILED (\S+)", re.MULTILINE)
# The last line of pytest: "== 3 failed, 12 passed, 1 skipped in 0.12s ==", with or without the frame.
PYTEST = re.compile(r"^(?:=+ )?((?:\d+ \w+(?:, )?)+) in \d[\d.]*s", re.MULTILINE)


def count_pytest(summary):
    """(passed, failed, skipped) of pytest's own count."""
    words = {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", summary)}
    failed = sum(words.get(word, 0) for word in ("failed", "error", "errors", "xpassed"))
    return words.get("passed", 0), failed, sum(words.get(word, 0) for word in ("skipped", "xfailed"))


def count(lines):
    """Sums (passed, failed, skipped) over the JSON lines of a test log."""
    passed = failed = skipped = 0
    for line in lines:
        if not line.strip():
            continue
        test = json.loads(line)
        fine = test["result"] in ("OK", "EXPECTEDFAIL")
        output = test.get("stdout", "")
        announced = ANNOUNCED.search(output)
        pytest = PYTEST.search(output)
        if test["result"] == "SKIP":
            skipped += 1
        elif pytest is not None:
            good, bad, left_out = count_pytest(pytest.group(1))
            passed += good
            skipped += left_out
            failed += bad if fine else max(1, bad)
        elif announced is None:
            passed += fine
            failed += not fine
        else:
            cases = [match.group(1) for match in CASE.finditer(output)]
            passed += cases.count("OK")
            skipped += cases.count("SKIPPED")
            bad = cases.count("FAILED")
            if not fine:
                bad = max(1, bad + int(announced.group(1)) - len(cases))
            failed += bad
    return passed, failed, skipped


def failures(lines):
    """A text for each test that failed: its name, how it ended, its failed cases."""
    tests = [json.loads(line) for line in lines if line.strip()]
    return [
        " ".join([test["name"], test["result"], *(a or b for a, b in FAILED_CASE.findall(test.get("stdout", "")))])
        for test in tests
        if test["result"] not in ("OK", "EXPECTEDFAIL", "SKIP")
    ]


def main():
    with open(sys.argv[1], encoding="utf-8") as log:
        lines = list(log)
    for failure in failures(lines):
        print(f"failed: {failure}")
    passed, failed, skipped = count(lines)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
