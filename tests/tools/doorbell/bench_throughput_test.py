"""Runs `doorbell bench gemm`, `bandwidth`, `attention` and `convolution` as a user does: the table, the JSON's shape,
and what they refuse. How long anything takes is not a test; that the rates follow from the times is.

usage: bench_throughput_test.py PATH_OF_DOORBELL
"""

import json
import os
import subprocess
import sys
import unittest

TOOL = sys.argv.pop(1)
QUICK = ("--device", "CPU", "--runs", "2", "--seconds", "0.01")


def run(name, *args):
    clean = {k: v for k, v in os.environ.items() if k not in ("DEV", "DEBUG", "CPU_THREADS")}
    return subprocess.run([TOOL, "bench", name, *args], env=clean, capture_output=True, text=True, check=False)


class Throughput(unittest.TestCase):
    def rows(self, name, *args):
        result = run(name, *QUICK, "--json", *args)
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(result.stdout)
        self.assertEqual(report["title"], f"{name} of CPU")
        self.assertIn("hardware threads", report["facts"][0])
        return {row["what"]: row for row in report["rows"]}

    def check_rate(self, row, column, work):
        """GFLOPS or GB/s are the work by the median time."""
        self.assertLessEqual(row["least us"], row["median us"])
        self.assertAlmostEqual(row[column] * row["median us"] * 1e3 / work, 1, places=6)

    def test_gemm_counts_two_operations_a_product(self):
        rows = self.rows("gemm", "--dtypes", "f32,f16", "--sizes", "48,32")
        self.assertEqual(list(rows), ["f32 32 x 32 x 32", "f32 48 x 48 x 48", "f16 32 x 32 x 32", "f16 48 x 48 x 48"])
        for n in (32, 48):
            self.check_rate(rows[f"f32 {n} x {n} x {n}"], "GFLOPS", 2 * n**3)

    def test_bandwidth_counts_inputs_and_result_once(self):
        rows = self.rows("bandwidth", "--dtypes", "f32", "--sizes", "64KiB")
        operands = {"scale": 2, "add": 3, "sum": 1, "row sums": 1, "transpose": 2, "softmax": 2, "layernorm": 2}
        self.assertEqual(list(rows), [f"{name} f32 4 x 4096" for name in operands])
        for name, count in operands.items():
            self.check_rate(rows[f"{name} f32 4 x 4096"], "GB/s", count * 65536)

    def test_attention_counts_both_products(self):
        rows = self.rows("attention", "--dtypes", "f32", "--sizes", "32")
        self.check_rate(rows["f32 16 x 32 x 64"], "GFLOPS", 2 * 2 * 16 * 32 * 32 * 64)
        self.check_rate(rows["f32 16 x 32 x 64 causal"], "GFLOPS", 2 * 16 * 32 * 32 * 64)

    def test_convolution_counts_two_operations_a_product(self):
        rows = self.rows("convolution", "--dtypes", "f32", "--sizes", "1")
        self.assertEqual(len(rows), 6)
        self.check_rate(rows["f32 1 x 3 x 224 x 224 by 64 x 3 x 7 x 7 stride 2"], "GFLOPS", 2 * 64 * 112**2 * 3 * 49)
        self.check_rate(rows["f32 1 x 512 x 7 x 7 by 512 x 512 x 3 x 3 stride 1"], "GFLOPS", 2 * 512 * 49 * 512 * 9)

    def test_prints_a_table(self):
        text = run("gemm", *QUICK, "--sizes", "16", "--dtypes", "f32").stdout
        self.assertIn("f32 16 x 16 x 16", text)
        self.assertIn("GFLOPS", text)

    def test_leaves_out_what_takes_too_long_and_says_so(self):
        row = self.rows("gemm", "--dtypes", "f32", "--sizes", "16,64", "--longest", "0")["f32 64 x 64 x 64"]
        self.assertRegex(row["not measured"], r"^a call would take about .* s, --longest is 0 s$")
        self.assertEqual(row["GFLOPS"], "")

    def test_refuses_what_it_cannot_measure(self):
        for args, message in (
                (("gemm", "--dtypes", "f17"), "--dtypes f17: there is no dtype of this name"),
                (("gemm", "--device", "NULL"), "device NULL runs no kernels: there is nothing to measure"),
                (("bandwidth", "--sizes", "100"), "--sizes 100: one row of 4096 f32 takes 16384 bytes"),
                (("attention", "--sizes", "0"), "--sizes")):
            result = run(*args)
            self.assertNotEqual(result.returncode, 0)
            self.assertEqual(result.stdout, "")
            self.assertIn(message, result.stderr)


if __name__ == "__main__":
    unittest.main()
