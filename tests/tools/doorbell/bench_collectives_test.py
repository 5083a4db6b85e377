"""Runs `doorbell bench collectives` in two processes: the JSON's shape, whose figures follow from each other, and what
it refuses. How long anything takes is not a test.

usage: bench_collectives_test.py PATH_OF_DOORBELL PATH_OF_RUN.PY
"""
import json
import os
import subprocess
import sys
import unittest

RUN = sys.argv.pop(2)
TOOL = sys.argv.pop(1)


class Collectives(unittest.TestCase):
    def rows_of_two(self, title, *options):
        command = [sys.executable, RUN, "2", TOOL, "bench", "collectives", "--runs", "3", "--json", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 77:
            self.skipTest(done.stdout)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(report["title"], f"{title} of 2 processes")
        return {row["what"]: row for row in report["rows"]}

    def test_figures_of_two_processes(self):
        rows = self.rows_of_two("collectives", "--sizes", "1KiB,6")
        self.assertEqual(list(rows), [f"{name} {size}" for name in ("allreduce", "allgather", "alltoall", "broadcast")
                                      for size in (1024, 4)])
        for row in rows.values():
            self.assertEqual(row["samples"], 3)
            self.assertAlmostEqual(row["over us"], row["replay us"] - row["MPI us"], places=6)
            self.assertAlmostEqual(row["over %"], row["over us"] / row["MPI us"] * 100, places=6)
        self.assertAlmostEqual(rows["allreduce 1024"]["GB/s"] * rows["allreduce 1024"]["replay us"], 1.024, places=6)

    def test_a_step_says_what_it_hides(self):
        rows = self.rows_of_two("a step", "--step")
        self.assertEqual(list(rows), ["8 x 65536 of 256", "8 x 262144 of 512", "8 x 1048576 of 512"])
        for row in rows.values():
            seen = (row["step us"] - row["compute us"]) / row["exchange us"] * 100
            self.assertAlmostEqual(row["hidden %"], 100 - seen, places=3)

    def test_a_model_follows_its_constants(self):
        rows = self.rows_of_two("weak scaling, a model", "--model")
        counts = [2 ** i for i in range(11)]
        self.assertEqual(list(rows), [f"{step}, {count}" for step in (
            "8 x 65536 of 256", "8 x 262144 of 512", "8 x 1048576 of 512") for count in counts])

        def sums(size, count):
            return rows[f"8 x {size} of {256 if size == 65536 else 512}, {count}"]["sums us"]

        for count in counts[1:]:  # recursive doubling: in rounds
            self.assertAlmostEqual(sums(65536, count) / sums(65536, 2), count.bit_length() - 1)
        # Rabenseifner's: of 4 and 16 processes 2 and 4 times 2 latencies, and 3/2 and 15/8 of the bytes
        for size in (262144, 1048576):
            moving = (2 * sums(size, 4) - sums(size, 16)) / (2 * 1.5 - 1.875)
            latency = (sums(size, 4) - 1.5 * moving) / 4
            self.assertAlmostEqual(sums(size, 1024) / (20 * latency + 2 * 1023 / 1024 * moving), 1)
        for row in rows.values():
            compute = row["step us"] * row["share %"] / 100
            self.assertAlmostEqual(row["step us"] / (compute + row["sums us"]), 1)
            self.assertLessEqual(row["overlapped us"], row["step us"] * (1 + 1e-9))
        self.assertEqual(rows["8 x 65536 of 256, 1"]["share %"], 100)

    def test_alone_it_says_how_to_start_several(self):
        alone = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PMI", "SLURM"))}
        done = subprocess.run([TOOL, "bench", "collectives"], capture_output=True, text=True, check=False, env=alone)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("mpirun", done.stderr)
        one = subprocess.run([sys.executable, RUN, "1", TOOL, "bench", "collectives", "--model"], capture_output=True,
                             text=True, check=False)
        if one.returncode == 77:
            self.skipTest(one.stdout)
        self.assertNotEqual(one.returncode, 0)
        self.assertIn("two processes at least (1 here)", one.stderr)


if __name__ == "__main__":
    unittest.main()
