"""Tests of tests/support/share.py: the shares of a suite are the suite."""
import os
import subprocess
import sys
import unittest

SHARE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "share.py")
SHOW = "import os, sys; print(sys.argv[1:], os.getenv('GTEST_TOTAL_SHARDS'), os.getenv('GTEST_SHARD_INDEX'))"


def run(*arguments, **environment):
    clean = {k: v for k, v in os.environ.items() if k not in ("DOORBELL_SEED", "DOORBELL_WHOLE_TESTS")}
    return subprocess.run([sys.executable, SHARE, "3", sys.executable, "-c", SHOW, *arguments], check=True,
                          env={**clean, **environment}, capture_output=True, text=True).stdout.splitlines()


class Share(unittest.TestCase):
    def test_seeds_choose_all_shards(self):
        self.assertEqual([run("x", DOORBELL_SEED=str(seed))[1] for seed in (7, 8, 9)],
                         ["['x'] 3 1", "['x'] 3 2", "['x'] 3 0"])

    def test_samples_are_thinned_and_seeded(self):
        self.assertEqual(run("--sample=40", DOORBELL_SEED="7")[1], "['--sample=120', '--seed', '7'] None None")
        self.assertEqual(run("--sample", DOORBELL_SEED="7")[1], "['--sample=18', '--seed', '7'] None None")

    def test_the_seed_is_printed(self):
        self.assertEqual(run(DOORBELL_SEED="7")[0], "one share of 3, by DOORBELL_SEED=7")
        self.assertRegex(run()[0], r"^one share of 3, by DOORBELL_SEED=\d+$")

    def test_all_of_it_when_asked(self):
        self.assertEqual(run("--sample=40", DOORBELL_WHOLE_TESTS="1"), ["['--sample=40'] None None"])

    def test_failure_is_told(self):
        done = subprocess.run([sys.executable, SHARE, "3", sys.executable, "-c", "raise SystemExit(77)"], check=False)
        self.assertEqual(done.returncode, 77)


if __name__ == "__main__":
    unittest.main()
