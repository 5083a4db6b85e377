"""Runs `doorbell emu --gpu sm_86` on a client of NVIDIA's device nodes, in Python: it makes a client of RM and maps
video memory twice, by the ioctls of release 580.

usage: nv_emu_test.py PATH_OF_DOORBELL
"""

import os
import subprocess
import sys
import tempfile
import unittest

TOOL = sys.argv.pop(1)

# [NVIDIA/open-gpu-kernel-modules nvos.h: NVOS21, NVOS33, NV_MEMORY_ALLOCATION_PARAMS; nv-ioctl.h; nv_escape.h]
CLIENT = """
import ctypes, fcntl, mmap, os, stat, struct, sys
def escape(file, number, arguments):
    data = bytearray(arguments)
    fcntl.ioctl(file, 3 << 30 | len(data) << 16 | ord('F') << 8 | number, data)
    return data
control = os.open('/dev/nvidiactl', os.O_RDWR)
print('device', stat.S_ISCHR(os.stat('/dev/nvidia0').st_mode), os.path.exists('/dev/nvidia1'))
def alloc(root, parent, class_id, parameters=b''):
    buffer = ctypes.create_string_buffer(bytes(parameters), len(parameters) or 1)
    call = struct.pack('IIIIQII', root, parent, 0, class_id, ctypes.addressof(buffer) if parameters else 0, 0, 0)
    _, _, new, _, _, _, status = struct.unpack('IIIIQII', escape(control, 0x2b, call))
    assert status == 0, hex(status)
    return new
root = alloc(0, 0, 0x41)
device = alloc(root, root, 0x80, bytes(56))
memory = alloc(root, device, 0x40, struct.pack('I60xQ56x', root, 8192))
def map_memory():
    gpu = os.open('/dev/nvidia0', os.O_RDWR)
    escape(gpu, 0xc9, struct.pack('i', control))
    call = struct.pack('IIIxxxxQQQIIixxxx', root, device, memory, 0, 8192, 0, 0, 0, gpu)
    assert struct.unpack('IIIxxxxQQQIIixxxx', escape(control, 0x4e, call))[6] == 0
    return mmap.mmap(gpu, 8192)
one, other = map_memory(), map_memory()
one[4096:4101] = b'bytes'
print('memory', other[4096:4101])
"""


def run(*options, program=CLIENT):
    return subprocess.run([TOOL, "emu", "--gpu", "sm_86", *options, "--", sys.executable, "-c", program],
                          capture_output=True, text=True, timeout=60)


class NvEmu(unittest.TestCase):
    def test_a_client_maps_memory(self):
        done = run("--check", "error")
        self.assertEqual(done.stdout.splitlines(), ["device True False", "memory b'bytes'"], done.stderr)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_broken_rules_fail_the_program(self):
        wrong = "\ntry: alloc(root, device, 0xcbc0)\nexcept AssertionError: pass"
        done = run("--check", "error", program=CLIENT + wrong)
        self.assertIn("error NV-RM-004: RM_ALLOC: class 0xcbc0", done.stderr)
        self.assertEqual(done.returncode, 1, done.stderr)

    def test_a_trace_has_the_calls(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.txt")
            run("--trace", path)
            with open(path, encoding="utf-8") as file:
                lines = file.read().splitlines()
        self.assertRegex(lines[1], r"ioctl .*NVOS21_PARAMETERS hRoot=0xc1d00001 hObjectParent=0xc1d00001 .*hClass=0x80")
        self.assertEqual(len(lines), 7, lines)

    def test_leaks_are_told(self):
        self.assertIn("NV-RM-009: the process ends with 2 objects", run("--leaks").stderr)

    def test_a_driver_that_nobody_compared_is_refused(self):
        done = run("--driver", "535.1")
        self.assertIn("the layouts of driver 535.1 are not known", done.stderr)
        self.assertNotEqual(done.returncode, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
