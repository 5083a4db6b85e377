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
        self.assertEqual(list(rows), [f"{name} {size}" for name in ("allreduce", "allgather", "alltoall")
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

    def test_alone_it_says_how_to_start_several(self):
        alone = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PMI", "SLURM"))}
        done = subprocess.run([TOOL, "bench", "collectives"], capture_output=True, text=True, check=False, env=alone)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("mpirun", done.stderr)


if __name__ == "__main__":
    unittest.main()
