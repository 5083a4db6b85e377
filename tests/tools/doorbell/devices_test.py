"""Runs `doorbell devices` as a user does: the table, the JSON, the default, and a bad DEV.

usage: devices_test.py PATH_OF_DOORBELL
"""

import json
import os
import subprocess
import sys
import unittest

TOOL = sys.argv.pop(1)
NAMES = ["AMD", "NV", "QCOM", "METAL", "CUDA", "CL", "CPU", "WEBGPU", "NULL"]


def run(*args, **environment):
    clean = {k: v for k, v in os.environ.items() if k not in ("DEV", "DEBUG", "CPU_THREADS")}
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
