"""Runs `doorbell graph` as a user does, and opens the page in a browser without a window, where there is one.

usage: graph_test.py PATH_OF_DOORBELL PATH_OF_HELLO
"""
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HELLO = os.path.abspath(sys.argv.pop(2))
TOOL = os.path.abspath(sys.argv.pop(1))
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Graph(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = os.path.join(cls.folder.name, "page.html")
        clean = {k: v for k, v in os.environ.items() if k not in ("DEV", "DEBUG", "PROFILE", "GRAPH_FILE")}
        cls.run_of_hello = subprocess.run([TOOL, "graph", "--output", cls.path, "--", HELLO], env=clean, text=True,
                                          capture_output=True, cwd=cls.folder.name, check=False)
        with open(cls.path, encoding="utf-8") as file:
            cls.page = file.read()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def data(self):
        text = re.search(r'<script id="data" type="application/json">(.*?)</script>', self.page, re.DOTALL)[1]
        return json.loads(text)

    def rendered(self, fragment):
        """The page's elements after its script has run."""
        with tempfile.TemporaryDirectory() as profile:
            done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000",
                                   f"--user-data-dir={profile}", "--dump-dom", f"file://{self.path}#{fragment}"],
                                  capture_output=True, text=True, timeout=100, check=True)
        return html.unescape(done.stdout)

    def test_says_where_the_page_is(self):
        self.assertEqual(self.run_of_hello.returncode, 0, self.run_of_hello.stderr)
        self.assertIn("tensor(17.)", self.run_of_hello.stdout)
        self.assertIn(self.path, self.run_of_hello.stdout)

    def test_holds_graphs_kernels_and_times(self):
        data = self.data()
        self.assertGreaterEqual(len(data["graphs"]), 2)  # y, and the gradient of x
        operations = {node["op"] for graph in data["graphs"] for node in graph["nodes"]}
        self.assertTrue({"Mul", "Add"} <= operations, operations)
        for kernel in data["kernels"]:
            self.assertGreaterEqual(kernel["count"], 1, kernel["name"])
            self.assertGreater(kernel["total_us"], 0)
            for part in ("graph", "linear", "source"):
                self.assertTrue(kernel[part], part)
        for graph in data["graphs"]:
            for number, node in enumerate(graph["nodes"]):
                self.assertTrue(all(source < number for source in node["sources"]))
            for item in graph["items"]:
                self.assertLess(item["kernel"], len(data["kernels"]))

    def test_needs_nothing_beside_it(self):
        self.assertNotRegex(self.page, r'(src|href)="(https?:)?//')

    def test_a_browser_shows_it(self):
        if BROWSER is None:
            self.skipTest("no chromium here to open the page with")
        kernel = self.data()["kernels"][0]
        start = self.rendered("")
        self.assertIn(kernel["name"], start)
        self.assertIn(f"{len(self.data()['graphs'])} graphs, ", start)
        shown = self.rendered("kernel-0")
        self.assertIn("<h1>" + kernel["name"], shown)
        self.assertIn(kernel["source"].strip().splitlines()[0], shown)
        graph = self.rendered("graph-0")
        self.assertIn("<svg", graph)
        self.assertIn("Schedule", graph)

    def test_a_program_that_uses_no_device(self):
        done = subprocess.run([TOOL, "graph", "--output", self.path + "x", "--", "true"], text=True,
                              capture_output=True, cwd=self.folder.name, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("wrote no page", done.stderr)


if __name__ == "__main__":
    unittest.main()
