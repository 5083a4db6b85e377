"""Runs `doorbell devices` as a user does: the table, the JSON, the default, and a bad DEV.

usage: devices_test.py PATH_OF_DOORBELL
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

TOOL = sys.argv.pop(1)
NAMES = ["AMD", "NV", "QCOM", "METAL", "CUDA", "CL", "CPU", "WEBGPU", "NULL"]


def run(*args, **environment):
    clean = {k: v for k, v in os.environ.items()
             if k not in ("DEV", "DEBUG", "CPU_THREADS") and not k.startswith(("AMD_", "EMU_"))}
    return subprocess.run([TOOL, *args], env={**clean, **environment}, capture_output=True, text=True)


class Devices(unittest.TestCase):
    def test_table_lists_every_device(self):
        result = run("devices", CPU_THREADS="3")
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = result.stdout.splitlines()[1:10]
        self.assertEqual([row[2:].split()[0] for row in rows], NAMES)
        cpu = rows[NAMES.index("CPU")]
        self.assertTrue(cpu.startswith("* CPU"), cpu)
        self.assertIn("available: 3 threads, ", cpu)

    def test_json_says_the_same(self):
        result = run("devices", "--json", DEV="NULL")
        devices = {row["device"]: row for row in json.loads(result.stdout)["devices"]}
        self.assertEqual(list(devices), NAMES)
        self.assertEqual([name for name in NAMES if devices[name]["default"]], ["NULL"])
        self.assertTrue(devices["NULL"]["available"])
        self.assertFalse(devices["METAL"]["available"])
        self.assertIn({"name": "CLANG", "built": True}, devices["CPU"]["renderers"])
        self.assertEqual(devices["QCOM"]["interfaces"], ["KGSL", "EMUKGSL"])

    def test_what_compiles_for_nvidia(self):
        with tempfile.TemporaryDirectory() as folder:
            result = run("devices", "--json", DEV="NULL", CUDA_PATH=folder)
            compilers = {row["renderer"]: row for row in json.loads(result.stdout)["compilers"]}
            self.assertEqual(list(compilers), ["NV_CUDA", "NV_PTX"])
            for row in compilers.values():
                # What there is, with its version and place, or what to install.
                found = r"(NVRTC|nvJitLink) 1[2-9]\.[0-9]+ in \S+" if row["available"] else r"pip install|LLVM"
                self.assertRegex(row["state"], found)
        self.assertIn("NULL:NV_CUDA:sm_90", run("devices", DEV="NULL").stdout)

    def test_an_emulated_gpu_tells_what_it_has(self):
        # Data sheets: Radeon RX 7900 XTX, 96 compute units and 24 GB; Instinct MI300X, 304 and 192 GB, 8 XCCs.
        for gpu, more, expected, most_gib in (
            ("gfx1100", {}, r"gfx1100, 96 compute units, ([0-9.]+) GiB free, PM4 and SDMA queues", 24),
            ("gfx1100", {"AMD_AQL": "1"}, r"gfx1100, 96 compute units, ([0-9.]+) GiB free, AQL and SDMA queues", 24),
            ("gfx1100", {"AMD_DISABLE_SDMA": "1"}, r"gfx1100, 96 compute units, ([0-9.]+) GiB free, PM4 queues", 24),
            ("gfx942", {}, r"gfx942, 304 compute units on 8 XCCs, ([0-9.]+) GiB free, AQL and SDMA queues", 192),
            # PM4 is for partitions of one XCC.
            ("gfx942:CPX", {}, r"gfx942, 38 compute units, ([0-9.]+) GiB free, PM4 and SDMA queues", 24),
        ):
            result = run("devices", "--json", DEV="EMUKFD+AMD", EMU_GPU=gpu, **more)
            self.assertEqual(result.returncode, 0, result.stderr)
            devices = {row["device"]: row for row in json.loads(result.stdout)["devices"]}
            if not any(renderer["built"] for renderer in devices["AMD"]["renderers"]):
                self.skipTest("built without AMD")
            self.assertTrue(devices["AMD"]["available"])
            found = re.fullmatch("available: " + expected, devices["AMD"]["state"])
            self.assertTrue(found, devices["AMD"]["state"])
            # Queues have taken a little of it.
            self.assertTrue(most_gib - 2 < float(found[1]) <= most_gib, found[1])

    def test_an_emulated_cuda_gpu_tells_what_it_has(self):
        # The data sheet of the H100: 132 multiprocessors, 80 GB.
        result = run("devices", "--json", DEV="EMUCUDA+CUDA", EMU_GPU="sm_90")
        self.assertEqual(result.returncode, 0, result.stderr)
        cuda = {row["device"]: row for row in json.loads(result.stdout)["devices"]}["CUDA"]
        self.assertTrue(cuda["available"], cuda["state"])
        expected = r"Emulated H100, sm_90, 132 multiprocessors, 80\.0 GiB free, driver for CUDA 13"
        self.assertRegex(cuda["state"], expected)
        # Where there is no driver, what is missing.
        cuda = {row["device"]: row for row in json.loads(run("devices", "--json").stdout)["devices"]}["CUDA"]
        if not cuda["available"]:
            expected = r"no CUDA driver \(.*libcuda\.so\.1|CUDA_ERROR_\w+ \([0-9]+\)|driver for CUDA"
            self.assertRegex(cuda["state"], expected)

    def test_bad_settings_are_one_line(self):
        for environment, message in (
            ({"DEV": "CUP"}, "did you mean CPU?"),
            ({"DEBUG": "x"}, "DEBUG=x: 'x' is not a number"),
        ):
            result = run("devices", **environment)
            self.assertEqual(result.returncode, 1)
            self.assertEqual(result.stdout, "")
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
            self.assertIn(message, result.stderr)

    def test_no_subcommand_is_an_error(self):
        self.assertNotEqual(run().returncode, 0)


unittest.main()
