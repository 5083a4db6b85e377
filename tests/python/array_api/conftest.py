"""Counts by file at the end, as docs/python/array-api.md has them."""
import collections
import pathlib


def pytest_terminal_summary(terminalreporter):
    counts = collections.defaultdict(collections.Counter)
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in terminalreporter.stats.get(outcome, []):
            counts[pathlib.Path(report.nodeid.split("::")[0]).name][outcome] += 1
    total = sum(counts.values(), collections.Counter())
    for name, count in sorted(counts.items()) + [("all", total)]:
        terminalreporter.write_line(f"{name:28} {count['passed']:4} of {sum(count.values()):4}")
