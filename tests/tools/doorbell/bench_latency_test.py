"""Runs `doorbell bench latency` as a user does: the table, the JSON's shape, the picture, and what it refuses. How long
anything takes is not a test.

usage: bench_latency_test.py PATH_OF_DOORBELL PATH_OF_ABACUS_DOORBELL EMULATED,...

The second program knows a device without queues; EMULATED are devices of emulated GPUs, as DEV has them.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support"))

from nvidia_compilers import use_compiler  # noqa: E402 (found by the line above)

TOOL, ABACUS_TOOL, EMULATED = sys.argv.pop(1), sys.argv.pop(1), sys.argv.pop(1).split(",")
GROUPS = ["enqueue", "signal", "gap", "graph", "jit", "copy"]
QUICK = ("--runs", "20", "--seconds", "0.02", "--largest", "64KiB")


def run(*args, tool=TOOL, **environment):
    clean = {k: v for k, v in os.environ.items() if k not in ("DEV", "DEBUG", "CPU_THREADS")}
    return subprocess.run([tool, "bench", "latency", *args], env={**clean, **environment}, capture_output=True,
                          text=True)


class Latency(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """One run of each device for most tests."""
        cls.folder = tempfile.TemporaryDirectory()
        cls.svg = os.path.join(cls.folder.name, "cpu.svg")
        cls.cpu = run("--device", "CPU", "--json", "--svg", cls.svg, *QUICK, CPU_THREADS="2")
        cls.null = run("--json", *QUICK, DEV="NULL")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def report(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def refused(self, *args):
        """What an error says, on one line but for the hint at --help."""
        result = run(*args)
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(result.stdout, "")
        return result.stderr.strip()

    def test_names_machine_device_threads_and_clock(self):
        report = self.report(self.cpu)
        self.assertEqual(report["benchmark"], "latency")
        self.assertIn("hardware threads", report["machine"])
        self.assertEqual(report["device"]["name"], "CPU")
        self.assertEqual(report["device"]["threads"], 2)
        self.assertTrue(report["device"]["runs"])
        self.assertEqual(report["clock"]["name"], "CLOCK_MONOTONIC")
        self.assertGreater(report["clock"]["read_ns"], 0)
        self.assertEqual((report["runs"], report["seconds"]), (20, 0.02))

    def test_has_every_figure_once(self):
        sizes = ["4", "4096", "65536"]
        wanted = {"enqueue.launch", "enqueue.record", "enqueue.submit", "signal.launch", "signal.submit", "signal.idle",
                  "gap.stamped", "gap.period"}
        wanted |= {f"{kind}.{part}.{n}" for kind in ("graph", "jit") for part in ("launch", "run")
                   for n in (1, 10, 100, 1000)}
        wanted |= {f"copy.{way}.{size}" for size in sizes
                   for way in ("host_to_device", "device_to_host", "device_to_device", "queue")}
        for result in (self.cpu, self.null):
            series = self.report(result)["series"]
            self.assertEqual(sorted(one["id"] for one in series), sorted(wanted))
            for one in series:
                self.assertEqual(one["id"].split(".")[0], one["group"])
                self.assertIn(one["group"], GROUPS)

    def test_percentiles_rise_and_histograms_hold_every_sample(self):
        for one in self.report(self.cpu)["series"]:
            with self.subTest(one["id"]):
                self.assertTrue(one["available"], one.get("reason"))
                self.assertEqual(one["unit"], "ns")
                self.assertTrue(5 <= one["samples"] <= 20)
                self.assertGreaterEqual(one["calls_per_sample"], 1)
                rising = [one[key] for key in ("min", "p1", "median", "p99", "max")]
                self.assertEqual(rising, sorted(rising))
                self.assertTrue(one["min"] <= one["mean"] <= one["max"])
                self.assertEqual(sum(bucket["count"] for bucket in one["histogram"]), one["samples"])
                edges = [edge for bucket in one["histogram"] for edge in (bucket["from"], bucket["to"])]
                self.assertEqual(edges, sorted(edges))

    def test_derived_figures_follow_from_the_medians(self):
        for one in self.report(self.cpu)["series"]:
            if one["group"] == "copy":
                self.assertAlmostEqual(one["gigabytes_per_second"] * one["median"], one["bytes"], delta=1e-6)
                self.assertEqual(one["id"].split(".")[2], str(one["bytes"]))
            if one["group"] in ("graph", "jit"):
                self.assertAlmostEqual(one["ns_per_node"] * one["nodes"] / one["median"], 1)
                self.assertEqual(one["id"].split(".")[2], str(one["nodes"]))

    def test_says_what_a_device_cannot_have(self):
        report = self.report(self.null)
        self.assertFalse(report["device"]["runs"])
        self.assertTrue(any("nothing runs on this device" in note for note in report["notes"]))
        missing = {one["id"]: one["reason"] for one in report["series"] if not one["available"]}
        self.assertEqual({name.split(".")[0] for name in missing}, {"signal", "gap", "copy"})
        for reason in missing.values():
            self.assertTrue(reason.startswith("not available on NULL, because "), reason)
        self.assertIn("no timestamps", missing["gap.stamped"])
        self.assertIn("no contents", missing["copy.device_to_host.4"])

    def test_a_device_without_queues_has_one_in_software(self):
        report = self.report(run("--device", "ABACUS", "--json", *QUICK, tool=ABACUS_TOOL))
        self.assertTrue(any("one in software" in note for note in report["notes"]))
        self.assertEqual([one["id"] for one in report["series"] if not one["available"]], [])

    def test_the_queues_of_emulated_gpus(self):
        for device in EMULATED:
            environment = {**os.environ, "EMU_GPU": "gfx1100" if "AMD" in device else "sm_86"}
            with self.subTest(device=device):
                if "AMD" not in device and not use_compiler(TOOL, "NV_PTX", environment):
                    self.skipTest(f"there is no compiler for {device}")
                report = self.report(run("--device", device, "--json", "--runs", "2", "--seconds", "0.02", "--largest",
                                         "4KiB", **environment))
                self.assertEqual([one["id"] for one in report["series"] if not one["available"]], [])

    def test_table_and_histograms(self):
        result = run("--device", "NULL", "--only", "enqueue,gap", "--histograms", *QUICK)
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = result.stdout.splitlines()
        self.assertEqual(lines[0], "Latency of NULL")
        self.assertEqual(sum(line.startswith("submit of these words ") for line in lines), 1)
        self.assertEqual(lines.count("submit of these words"), 1, "a histogram's title")
        self.assertIn("not available on NULL, because it runs nothing, so its queue writes no timestamps:", lines)
        bars = [line for line in lines if line.endswith("#")]
        self.assertTrue(bars)
        # Aligned: every bar begins in the same column, and none is longer than the longest count's.
        self.assertEqual({line.index("#") for line in bars}, {bars[0].index("#")})
        self.assertLessEqual(max(line.count("#") for line in bars), 40)
        table = run("--device", "NULL", "--only", "enqueue", *QUICK).stdout
        self.assertNotIn("#", table)
        self.assertLess(len(table.splitlines()), 30, "short, unless more is asked for")

    def test_picture_is_well_formed(self):
        self.report(self.cpu)
        root = xml.etree.ElementTree.parse(self.svg).getroot()
        space = "{http://www.w3.org/2000/svg}"
        self.assertEqual(root.tag, space + "svg")
        width, height = float(root.get("width")), float(root.get("height"))
        words = [element.text for element in root.iter(space + "text")]
        for word in ["Latency of CPU", "median", "p1 to p99", "time of one call, logarithmic", *GROUPS]:
            self.assertIn(word, words)
        medians = [element for element in root.iter(space + "circle") if element.find(space + "title") is not None]
        self.assertEqual(len(medians), len(self.report(self.cpu)["series"]))
        for element in list(root.iter(space + "text")) + medians:
            x, y = float(element.get("x", element.get("cx"))), float(element.get("y", element.get("cy")))
            self.assertTrue(0 <= x <= width and 0 <= y <= height, xml.etree.ElementTree.tostring(element))

    def test_bad_arguments_are_named(self):
        for args, words in (
            (("--runs", "0"), ("--runs", "0")),
            (("--runs", "many"), ("--runs", "many")),
            (("--seconds", "-1"), ("--seconds", "-1")),
            (("--largest", "2"), ("--largest", "2")),
            (("--largest", "4parsec"), ("--largest", "parsec")),
            (("--only", "enqueue,gpa"), ("--only", "gpa", "gap")),
            (("--svg", "/no/such/folder/x.svg"), ("--svg", "/no/such/folder")),
            (("--svg", self.folder.name), ("--svg", self.folder.name, "folder")),
            (("--device", "CUP"), ("CUP", "did you mean CPU?")),
            (("--what",), ("--what",)),
        ):
            with self.subTest(args):
                message = self.refused(*args)
                for word in words:
                    self.assertIn(word, message)

    def test_help_explains_the_figures(self):
        result = run("--help")
        self.assertEqual(result.returncode, 0)
        for word in ["FIGURES", "EXAMPLES", "--svg", "--largest", *GROUPS]:
            self.assertIn(word, result.stdout)

    def test_bench_alone_is_an_error(self):
        self.assertNotEqual(subprocess.run([TOOL, "bench"], capture_output=True).returncode, 0)


unittest.main()
