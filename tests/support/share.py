"""Runs one share of a long suite, chosen by a seed, which it prints: share.py SHARES PROGRAM [ARGUMENTS]

A GoogleTest program runs every SHARES-th of its tests. Of `doorbell conformance --sample=N`, N is multiplied by SHARES.
DOORBELL_SEED=S repeats a choice. DOORBELL_WHOLE_TESTS=1 (scripts/test --whole) runs all that was asked for.
"""
import os
import re
import subprocess
import sys
import time

SAMPLE = re.compile(r"--sample(?:=(\d+))?")
DEFAULT_SAMPLE = 6  # of --sample alone


def share(shares, command, seed):
    """The command and the variables of a seed's share."""
    samples = [SAMPLE.fullmatch(argument) for argument in command]
    if any(samples):
        command = [f"--sample={int(match[1] or DEFAULT_SAMPLE) * shares}" if match else argument
                   for argument, match in zip(command, samples)]
        return [*command, "--seed", str(seed)], {}
    return command, {"GTEST_TOTAL_SHARDS": str(shares), "GTEST_SHARD_INDEX": str(seed % shares)}


def main():
    shares, command, variables = int(sys.argv[1]), sys.argv[2:], {}
    if os.environ.get("DOORBELL_WHOLE_TESTS") != "1":
        seed = int(os.environ.get("DOORBELL_SEED") or time.time())
        command, variables = share(shares, command, seed)
        print(f"one share of {shares}, by DOORBELL_SEED={seed}", flush=True)
    return subprocess.run(command, env={**os.environ, **variables}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
