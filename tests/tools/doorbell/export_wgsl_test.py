"""Runs `doorbell export --wgsl` as a user does, and what it wrote in a headless Chromium, whose WebGPU
computes in software (SwiftShader).

usage: export_wgsl_test.py PATH_OF_DOORBELL PATH_OF_CLASSIFIER PATH_OF_BROWSER_FUNCTIONS
"""

import functools
import http.server
import json
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

FUNCTIONS = os.path.abspath(sys.argv.pop(3))
CLASSIFIER = os.path.abspath(sys.argv.pop(2))
TOOL = os.path.abspath(sys.argv.pop(1))
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

# Posts what its script gives, or the error; numbers of 64 bits as text.
PAGE = """<!doctype html><body><script type="module">
const run = async () => {%s};
const post = (value) => fetch("/", {method: "POST", body: JSON.stringify(
  value, (_, v) => typeof v === "bigint" ? String(v) : ArrayBuffer.isView(v) ? Array.from(v) : v)});
run().then(post, (error) => post("failed: " + error));
</script></body>
"""


class Handler(http.server.SimpleHTTPRequestHandler):
    def __init__(self, posted, *arguments, **keywords):
        self.posted = posted
        super().__init__(*arguments, **keywords)

    def do_POST(self):
        self.posted.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


class ExportWgsl(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = self.folder.name

    def export(self, program):
        clean = {k: v for k, v in os.environ.items() if k not in ("DEV", "DEBUG", "EXPORT")}
        return subprocess.run([TOOL, "export", "--wgsl", "--folder", "out", "--", program], env=clean,
                              capture_output=True, text=True, cwd=self.root)

    def in_browser(self, script):
        """What the script, whose page is beside out/, returns in a browser."""
        if CHROMIUM is None:
            self.skipTest("no Chromium is installed: apt-get install chromium")
        with open(os.path.join(self.root, "test.html"), "w", encoding="utf-8") as file:
            file.write(PAGE % script)
        posted = queue.Queue()
        server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(Handler, posted, directory=self.root))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = subprocess.Popen(
            [CHROMIUM, "--headless", "--no-sandbox", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader",
             f"--user-data-dir={self.root}/profile", f"http://127.0.0.1:{server.server_port}/test.html"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            return posted.get(timeout=200)
        finally:
            browser.terminate()
            browser.wait()
            server.shutdown()
            server.server_close()

    def test_the_page_gives_what_the_example_printed(self):
        result = self.export(CLASSIFIER)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("exported classify: ", result.stdout)
        self.assertEqual(sorted(os.listdir(os.path.join(self.root, "out"))),
                         ["classify.html", "classify.js", "classify.safetensors"])
        here = [float(number) for number in re.findall(r"\d\.\d+", result.stdout.split("\n")[0])]
        shown = self.in_browser("""
            const page = document.body.appendChild(document.createElement("iframe"));
            page.src = "out/classify.html";
            await new Promise((done) => page.onload = done);
            const shown = page.contentDocument.getElementById("results");
            const until = (reached) => new Promise((done) => {
              const look = () => reached(shown.textContent) && done(shown.textContent);
              new page.contentWindow.MutationObserver(look).observe(shown, {childList: true});
              look();
            });
            const opened = await until((text) => !text.startsWith("opening"));
            if (opened !== "ready") return opened;
            page.contentDocument.querySelector("textarea").value = "0.5 -1, 2 0.25";
            page.contentDocument.querySelector("button").click();
            return until((text) => text !== "ready" && !text.startsWith("running"));""")
        self.assertRegex(shown, r"^result0: \S+ \S+ \S+$")
        there = [float(number) for number in shown.split()[1:]]
        for a, b in zip(here, there, strict=True):
            self.assertAlmostEqual(a, b, delta=1e-4)
        self.assertAlmostEqual(sum(there), 1, delta=1e-5)

    def test_state_sizes_and_types_are_as_in_c(self):
        result = self.export(FUNCTIONS)
        self.assertEqual(result.returncode, 0, result.stderr)
        got = self.in_browser("""
            const opened = async (name, ...rest) => (await import(`./out/${name}.js`)).open(...rest);
            const step = await opened("step"), swap = await opened("swap");
            const total = await opened("total"), types = await opened("types");
            const change = await opened("change");
            const steps = [], swaps = [], totals = [], refused = [];
            for (let i = 0; i < 3; ++i)
              steps.push(await step.run({argument0: Float32Array.of(10 * i, 5)}));
            for (let i = 0; i < 2; ++i)
              swaps.push((await swap.run({argument0: Int32Array.of(0, 0)})).result0);
            for (let n = 1; n <= 8; ++n) totals.push((await total.run({n})).result0[0]);
            const typed = await types.run({
              argument0: Uint8Array.of(1, 2, 3, 5, 6), argument1: BigInt64Array.of(-3n, 3000000000n, 1n << 40n),
              argument2: Uint16Array.of(0x3c00, 0xc000, 0x4a00)});  // 1, -2, 12
            const x = Float32Array.of(1, 2), changed = await change.run({argument0: x});
            const refuse = (promise) => promise.then(() => refused.push("opened"), (e) => refused.push(e.message));
            await refuse(step.run({argument0: Float32Array.of(1)}));
            await refuse(total.run());
            await refuse(opened("step", new ArrayBuffer(4)));
            await refuse(opened("step", await (await fetch("out/swap.safetensors")).arrayBuffer()));
            const weights = await (await fetch("out/step.safetensors")).arrayBuffer();
            await refuse(opened("step", weights.slice(0, -1)));
            step.close();
            return {steps, swaps, totals, typed, x, changed, refused};""")
        self.assertIsInstance(got, dict, got)
        self.assertEqual(got["steps"], [{"result0": [1, 2], "result1": [3]}, {"result0": [0, 5], "result1": [4]},
                                        {"result0": [10, 5], "result1": [5]}])
        self.assertEqual(got["swaps"], [[3, 4], [1, 2]])
        self.assertEqual(got["totals"], [0, 1, 3, 6, 10, 15, 21, 28])
        self.assertEqual(got["typed"], {
            "result0": [251, 252, 253, 255, 0], "result1": [0, 0, 0, 1, 1],
            "result2": ["9", "9000000000000000000", "0"], "result3": [0.25, -0.5, 3],
            "result4": [0x4000, 0xbf80, 0x4150]})
        self.assertEqual((got["x"], got["changed"]), ([2, 3], {"result0": [5]}))
        self.assertEqual(got["refused"], [
            "step: argument 'argument0' is no Float32Array of shape (2)", "total: size 'n' is missing",
            "step: the weights end in their header", "step: tensor 'state0' is I32, expected F32",
            "step: the weights end within tensor 'state1'"])


if __name__ == "__main__":
    unittest.main()
