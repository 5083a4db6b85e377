"""Runs scripts/hw_run.py as `scripts/hw` would on a machine with a GPU, here on the CPU: the table, the JSON, the time.

usage: hw_run_test.py PATH_OF_HW_RUN PATH_OF_DOORBELL
"""

import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

RUNNER, TOOL = sys.argv.pop(1), sys.argv.pop(1)
sys.dont_write_bytecode = True  # of the runner, which one test imports


def compiles_for_nvidia():
    listing = subprocess.run([TOOL, "devices", "--json"], capture_output=True, text=True, check=True).stdout
    return any(one["renderer"] == "NV_CUDA" and one["available"] for one in json.loads(listing)["compilers"])


def runner_module():
    spec = importlib.util.spec_from_file_location("hw_run", RUNNER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class HwRun(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_hw(self, *arguments, runner=RUNNER, tool=TOOL):
        environment = {**os.environ, "EMU_GPU": "sm_86"}
        done = subprocess.run([sys.executable, runner, "--doorbell", tool, "--out", self.folder, "--quick", *arguments],
                              capture_output=True, text=True, check=False, env=environment)
        path = os.path.join(self.folder, "hw.json")
        report = None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
        return done, report

    def test_writes_one_table_and_one_json(self):
        done, report = self.run_hw("--devices", "CPU")
        self.assertEqual(done.returncode, 0, done.stderr)
        parts = report["devices"]["CPU"]
        self.assertEqual(list(parts), ["probe", "conformance", "silicon", "capture", "latency", "gemm", "bandwidth",
                                       "attention", "convolution"])
        self.assertEqual(parts["silicon"], {"unsupported": "CPU has no emulator"})
        self.assertIn("silicon: not run: CPU has no emulator", done.stdout)
        self.assertEqual(parts["conformance"]["failed"], 0)
        self.assertGreater(parts["conformance"]["passed"], 50)
        self.assertTrue(all(row["median us"] > 0 for row in parts["gemm"]["rows"]))
        if report["torch"] != "PyTorch is not installed: nothing to compare with":
            for part in ("gemm", "bandwidth", "attention", "convolution"):
                for row in parts[part]["rows"]:
                    self.assertGreater(row["torch us"], 0, row)
        with open(os.path.join(self.folder, "hw.md"), encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(text, done.stdout)
        self.assertIn("gemm f32 64 x 64 x 64", text)
        self.assertIn("conformance: %d passed, 0 failed, " % parts["conformance"]["passed"], text)
        self.assertIn("convolution f32 1 x 64 x 56 x 56 by 64 x 64 x 3 x 3 stride 1", text)

    def test_keeps_what_conformance_did_when_its_time_is_up(self):
        # A program whose time is up behind its first batch, however fast this machine is.
        hasty = os.path.join(self.folder, "hasty")
        with open(hasty, "w", encoding="utf-8") as file:
            file.write("#!/usr/bin/env bash\n"
                       'echo "$*" >>"$0.calls"\n'
                       "args=()\n"
                       "while [ $# -gt 0 ]; do\n"
                       '  if [ "$1" = --seconds ]; then args+=(--seconds 0.01); shift 2\n'
                       '  else args+=("$1"); shift; fi\n'
                       "done\n"
                       'exec %s "${args[@]}"\n' % shlex.quote(TOOL))
        os.chmod(hasty, 0o755)
        done, report = self.run_hw("--devices", "CPU", "--parts", "conformance", "--minutes", "1", tool=hasty)
        with open(hasty + ".calls", encoding="utf-8") as file:
            self.assertIn("conformance --device CPU --seconds ", file.read())
        conformance = report["devices"]["CPU"]["conformance"]
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertGreater(conformance["passed"], 0)
        self.assertGreater(conformance["not_run"], 0)
        self.assertIn(", %d not run for want of time" % conformance["not_run"], done.stdout)

    def test_a_line_compares_with_whom_there_is(self):
        hw_run = runner_module()
        row = {"what": "f16 64 x 64 x 64", "median us": 10.0, "GFLOPS": 52.4, "GB/s": "", "cuBLAS us": 8.0,
               "cuBLAS TF32 us": None, "torch us": 20.0}
        line, = hw_run.lines_of("gemm", {"rows": [row]})
        self.assertTrue(line.startswith("gemm f16 64 x 64 x 64 "), line)
        self.assertTrue(line.endswith(" 0.80 of cuBLAS's speed   2.00 of PyTorch's speed"), line)

    def test_the_table_says_why_no_gpu_opened(self):
        listing = {"devices": [{"device": "CPU", "available": True, "state": "works"},
                               {"device": "CUDA", "available": False, "state": "libcuda.so.1 is missing"}]}
        text = runner_module().table({"commit": "c", "gpus": [], "host": "x86_64", "date": "now", "torch": "no PyTorch",
                                      "listing": listing, "devices": {}})
        self.assertTrue(text.endswith("No GPU opened:\n\n- CUDA: libcuda.so.1 is missing\n"), text)

    @unittest.skipUnless(compiles_for_nvidia(), "NVRTC is missing")
    def test_an_emulated_gpu_holds_what_its_emulator_holds(self):
        done, report = self.run_hw("--devices", "EMUCUDA+CUDA:CUDA", "--parts", "silicon", "--minutes", "0.3")
        result = report["devices"]["EMUCUDA+CUDA:CUDA"]["silicon"]
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertGreater(result["compared"], 0)
        self.assertEqual((result["exact"], result["approximate"], result["nan"]), (0, 0, 0), result)
        self.assertEqual(result["chip"], "sm_86")
        self.assertRegex(done.stdout, r"silicon: \d+ tensors compared with EMUCUDA\+CUDA:CUDA: 0 of exact ")

    def test_names_what_did_not_fit_into_its_time(self):
        done, report = self.run_hw("--devices", "CPU", "--parts", "latency", "--minutes", "0")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(report["devices"]["CPU"]["latency"], {"error": "not run: no time was left"})
        self.assertIn("latency: not run: no time was left", done.stdout)

    def test_a_device_that_does_not_open_is_an_error_of_its_parts(self):
        done, report = self.run_hw("--devices", "CPU:NOSUCH CPU", "--parts", "gemm")
        self.assertEqual(done.returncode, 1)
        self.assertIn("NOSUCH", report["devices"]["CPU:NOSUCH"]["gemm"]["error"])
        self.assertIn("rows", report["devices"]["CPU"]["gemm"])

    def test_refuses_what_it_does_not_know(self):
        done, report = self.run_hw("--parts", "gemm,speed")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--parts speed: there is no such part", done.stderr)
        self.assertIsNone(report)

    def test_refuses_a_c_library_older_than_the_program_wants(self):
        runner = shutil.copy(RUNNER, self.folder)
        with open(os.path.join(self.folder, "glibc"), "w", encoding="ascii") as file:
            file.write("GLIBC_99.1\n")
        done, _ = self.run_hw("--devices", "CPU", runner=runner)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"this machine has glibc [0-9.]+, the program was built for 99\.1")


if __name__ == "__main__":
    unittest.main()
