"""Runs `doorbell amd probe` as a user does, on emulated GPUs: in process, and behind the kernel's interface.

usage: amd_probe_test.py PATH_OF_DOORBELL
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.abspath(sys.argv.pop(1))
# Not without options; and of several XCCs.
LEFT_OUT = {"largest copies", "hang", "instruction", "memory fault", "afterwards"}


def run(*arguments, gpu="gfx1100"):
    return subprocess.run([TOOL, *arguments], capture_output=True, text=True, timeout=120,
                          env=dict(os.environ, EMU_GPU=gpu))


def verdicts(text):
    """The verdict of each step, by its name."""
    return {line[:16].rstrip(): line[17:32].rstrip() for line in text.splitlines()}


class Probe(unittest.TestCase):
    def check(self, done, left_out):
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        found = verdicts(done.stdout)
        self.assertGreater(len(found), 15)
        for step, verdict in found.items():
            self.assertEqual(verdict, "cannot be tried" if step in left_out else "ok", done.stdout)

    def test_emulated_gpus_are_as_the_facts_say(self):
        for gpu, more in (("gfx1100", set()), ("gfx942", {"atomics"}), ("gfx1201", set()), ("gfx1030", set())):
            with self.subTest(gpu):
                self.check(run("amd", "probe", "--device", "EMUKFD+AMD", gpu=gpu), LEFT_OUT | more)
                self.check(run("emu", "--gpu", gpu, "--", TOOL, "amd", "probe"), LEFT_OUT | more)

    def test_faults_are_reported_and_another_process_goes_on(self):
        # The emulator resets a GPU at an instruction that is none, and the process has lost it.
        done = run("emu", "--gpu", "gfx1100", "--", TOOL, "amd", "probe", "--faults")
        found = verdicts(done.stdout)
        self.assertEqual([found[step] for step in ("hang", "instruction", "memory fault", "afterwards")],
                         ["ok", "ok", "cannot be tried", "ok"], done.stdout)
        self.assertIn("AMD-QUE-009", done.stderr)

    def test_a_record_is_compared_with_another_run(self):
        done = run("amd", "probe", "--device", "EMUKFD+AMD", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        record = json.loads(done.stdout)
        self.assertTrue(record["ok"])
        steps = {step["step"]: step for step in record["steps"]}
        self.assertIn("cell 0 is 0x1122334455667788", steps["PM4 signals"]["trace"])
        self.assertTrue(any("COPY" in line for line in steps["copies"]["trace"]))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "card.json")
            for change, status, said in (
                    (None, 0, ""), ("cell 0 is 0x1", 1,
                                    "doorbell: PM4 signals: line 6 of its trace: recorded cell 0 is 0x1, "
                                    "here cell 0 is 0x1122334455667788; it tests docs/hw/amd-facts.md")):
                if change:
                    trace = steps["PM4 signals"]["trace"]
                    trace[trace.index("cell 0 is 0x1122334455667788")] = change
                with open(path, "w", encoding="utf-8") as file:
                    json.dump(record, file)
                done = run("amd", "probe", "--device", "EMUKFD+AMD", "--compare", path)
                self.assertEqual((done.returncode, done.stderr[:len(said)]), (status, said), done.stdout)
                self.assertEqual(done.stderr.count("\n"), 1 if change else 0)
            with open(path, "w", encoding="utf-8") as file:
                file.write("{}")
            done = run("amd", "probe", "--device", "EMUKFD+AMD", "--compare", path)
            self.assertEqual((done.returncode, done.stderr), (
                1, f"doorbell: {path} is not what doorbell amd probe --json printed\n"))

    def test_what_cannot_be_opened_is_said(self):
        self.assertIn("--device is CPU, expected KFD+AMD or EMUKFD+AMD",
                      run("amd", "probe", "--device", "CPU").stderr)
        done = run("amd", "probe", "--device", "EMUKFD+AMD", "--gpu", "3")
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (1, "", "doorbell: GPU index 3 out of range (1 present)\n"))
        if not os.path.exists("/dev/kfd"):
            done = run("amd", "probe")
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn("/dev/kfd does not exist", done.stderr)


if __name__ == "__main__":
    unittest.main()
