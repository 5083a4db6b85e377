"""Several processes compile the same kernels into one empty cache at once, and one of them is killed on its way: all
others print what they always print, and so does the next.

usage: shared_cache_test.py PATH_OF_HELLO
"""

import os
import subprocess
import sys
import tempfile
import time
import unittest

HELLO = sys.argv.pop(1)
PRINTED = "tensor(17.)\ntensor([2., 4., 6.])\n"


class SharedCache(unittest.TestCase):
    def start(self, folder):
        environment = {k: v for k, v in os.environ.items() if k not in ("DEV", "DEBUG", "CPU_THREADS")}
        return subprocess.Popen([HELLO], env={**environment, "XDG_CACHE_HOME": folder}, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def expect_answer(self, process):
        out, error = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out, error), (0, PRINTED, ""))

    def test_survivors_answer(self):
        for delay_ms in (0, 10, 25, 60):
            with self.subTest(delay_ms), tempfile.TemporaryDirectory() as folder:
                victim, *others = [self.start(folder) for _ in range(4)]
                time.sleep(delay_ms / 1000)
                victim.kill()
                for process in others:
                    self.expect_answer(process)
                victim.communicate(timeout=60)
                self.expect_answer(self.start(folder))
                files = [name for _, _, names in os.walk(folder) for name in names]
                self.assertTrue(any(name.endswith(".db") for name in files), files)


unittest.main()
