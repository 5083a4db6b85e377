"""GPUs of several processes exchange through NCCL's interface: emulated ones, through the library that stands in for it
(tests/drivers/nccl_stand_in), which checks how it is called. The collectives give what MPI's give, and faults of each
kind end all processes with an error.

usage: nccl.py TESTS VICTIM STAND_IN DOORBELL        VICTIM is nccl_victim.cc, STAND_IN the library
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from nvidia_compilers import SKIPPED, use_compiler  # noqa: E402
from run import command, send  # noqa: E402

TESTS = VICTIM = STAND_IN = ""
ENVIRONMENT = os.environ | {"CPU_THREADS": "1", "DEV": "EMUCUDA+CUDA:CUDA", "EMU_GPU": "sm_90"}
KINDS = ["AllReduce", "ReduceScatter", "AllGather", "Broadcast", "Send", "Recv"]
TIMEOUT = 10  # seconds, of the victim's exchanges


def read(file):
    with open(file, encoding="utf-8") as text:
        return text.read()


class Processes(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def logs(self, count):
        """What each process asked of the library, as lines."""
        found = []
        for rank in range(count):
            file = os.path.join(self.folder, f"log{rank}")
            found.append(read(file).splitlines() if os.path.exists(file) else [])
        return found

    def run_collectives(self, count, **settings):
        line = command(count) + [TESTS, "--gtest_brief=1", "--gtest_filter=Collectives.*"]
        environment = ENVIRONMENT | {"NCCL_STAND_IN_LOG": os.path.join(self.folder, "log")} | settings
        done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=250)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def check_collectives(self, count):
        self.run_collectives(count, NCCL=STAND_IN)
        logs = self.logs(count)
        for log in logs:
            self.assertEqual(log, logs[0])
        self.assertEqual(logs[0][0], f"start of {count}")
        self.assertEqual({line.split()[0] for line in logs[0][1:]}, set(KINDS))
        # A message to each process and from it.
        self.assertEqual(sum(line.startswith("Send") for line in logs[0]) % count, 0)
        # Sums of f16 and bf16 are made of f32 (7): of 5 elements, those and f32's own.
        self.assertEqual(logs[0].count("AllReduce 5 7"), 3)
        self.assertEqual(logs[0].count("AllReduce 5 8"), 1)

    def test_collectives_of_two(self):
        self.check_collectives(2)

    def test_collectives_of_four(self):
        self.check_collectives(4)

    def test_through_the_hosts_memory(self):
        told = self.run_collectives(2, NCCL="0", DEBUG="1")
        self.assertIn("bytes of GPUs pass through the host's memory: rank 0: NCCL=0", told)
        self.assertEqual(self.logs(2), [[], []])

    def errors(self, count, gone=(), **settings):
        """What ends the victims, by rank, but for those that say nothing."""
        line = command(count) + ["--enable-recovery", VICTIM, self.folder, str(TIMEOUT)]
        environment = ENVIRONMENT | {"NCCL": STAND_IN, "NCCL_STAND_IN_LOG": os.path.join(self.folder, "log")} | settings
        run = subprocess.Popen(line, env=environment, start_new_session=True, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
        try:
            files = {rank: os.path.join(self.folder, f"error{rank}") for rank in range(count) if rank not in gone}
            for _ in range(1200):
                if all(map(os.path.exists, files.values())):
                    break
                try:
                    run.wait(0.1)
                    self.fail(f"mpirun ended: {run.stderr.read()}")
                except subprocess.TimeoutExpired:
                    pass
            return {rank: read(file) for rank, file in files.items()}
        finally:
            for file in os.listdir(self.folder):
                if file.endswith(".pid"):
                    send(int(file.removesuffix(".pid")), signal.SIGKILL)
            run.kill()
            run.wait()
            run.stderr.close()

    def test_a_process_that_dies_is_named(self):
        for message in self.errors(3, gone=[1], NCCL_STAND_IN_FAULT="killed:1:4").values():
            self.assertIn("rank 1, which does not answer: dead or stopped", message)
        self.assertEqual([log[-1:] for log in self.logs(3)], [["abort"], ["AllReduce 3 7"], ["abort"]])

    def test_a_fault_that_nccl_tells(self):
        found = self.errors(3, NCCL_STAND_IN_FAULT="broken:2:3")
        self.assertIn("remote process exited or there was a network error (6): connection closed", found[2])
        for rank in (0, 1):
            self.assertIn("rank 2 gave up: allreduce", found[rank])
        self.assertEqual([log[-1:] for log in self.logs(3)], [["abort"]] * 3)

    def test_a_start_that_fails(self):
        found = self.errors(2, NCCL_STAND_IN_FAULT="refused:0:0")
        self.assertIn("NCCL's start among 2 GPUs: system error (2): no route", found[0])
        self.assertIn("rank 0 gave up: NCCL's start", found[1])

    def test_nobody_waits_for_ever(self):
        for message in self.errors(2, NCCL_STAND_IN_FAULT="silent:1:3").values():
            self.assertIn(f"waited {TIMEOUT} s for", message)
        self.assertEqual([log[-1:] for log in self.logs(2)], [["abort"]] * 2)

    def test_a_library_that_is_missing(self):
        for message in self.errors(2, NCCL="/nowhere/libnccl.so.2").values():
            self.assertIn("NCCL was asked for: rank 0: ", message)
            self.assertIn("/nowhere/libnccl.so.2", message)


if __name__ == "__main__":
    TESTS, VICTIM, STAND_IN, DOORBELL = sys.argv[1:5]
    del sys.argv[1:5]
    if shutil.which("mpirun") is None:
        print("skipped: there is no mpirun here")
        sys.exit(SKIPPED)
    if not use_compiler(DOORBELL, "NV_CUDA", ENVIRONMENT):
        sys.exit(SKIPPED)
    unittest.main()
