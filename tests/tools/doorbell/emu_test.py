"""Runs `doorbell emu` as a user does: a client of the kernel's interface in Python, and Debian's rocminfo.

usage: emu_test.py PATH_OF_DOORBELL
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.abspath(sys.argv.pop(1))

# The interface as <linux/kfd_ioctl.h> has it: number, direction and size of each request.
CLIENT = """
import fcntl, mmap, os, stat, struct, sys
NODES = '/sys/devices/virtual/kfd/kfd/topology/nodes'
def request(number, size, direction=3): return direction << 30 | size << 16 | ord('K') << 8 | number
def call(fd, number, layout, *values, direction=3):
    data = bytearray(struct.pack(layout, *values))
    fcntl.ioctl(fd, request(number, len(data), direction), data, True)
    return struct.unpack(layout, data)
kfd = os.open('/dev/kfd', os.O_RDWR)
print('version', *call(kfd, 1, 'II', 0, 0, direction=2))
print('nodes', *sorted(os.listdir(NODES)))
gpu = int(open(NODES + '/1/gpu_id').read())
print('render nodes', *sorted(os.listdir('/dev/dri')))
info = os.stat('/dev/kfd')
print('device', stat.S_ISCHR(info.st_mode), stat.S_ISCHR(os.fstat(kfd).st_mode))
print('link', os.path.realpath('/sys/class/kfd/kfd/topology'))
drm = os.open('/dev/dri/renderD128', os.O_RDWR)
call(kfd, 0x15, 'II', drm, gpu, direction=1)
va, size = 0x7e0000000000, 0x4000
flags = 0xf6000002  # GTT, writable, executable, public, coherent, uncached
memory = call(kfd, 0x16, 'QQQQII', va, size, 0, 0, gpu, flags)
view = mmap.mmap(drm, size, offset=memory[3])
view[0:5] = b'bytes'
print('memory', view[0:5])
"""


class Emu(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.folder.cleanup()

    def emu(self, *arguments):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("EMU_") and k != "LD_PRELOAD"}
        return subprocess.run([TOOL, "emu", *arguments], env=clean, capture_output=True, text=True, timeout=100,
                              cwd=self.folder.name)

    def python(self, program, *options):
        return self.emu(*options, "--", sys.executable, "-c", program)

    def test_a_client_finds_opens_and_uses_the_gpu(self):
        done = self.python(CLIENT, "--gpu", "gfx1100,gfx942")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines(), [
            "version 1 17", "nodes 0 1 2", "render nodes renderD128 renderD129", "device True True",
            "link /sys/devices/virtual/kfd/kfd/topology", "memory b'bytes'"])

    def test_the_rest_of_the_machine_is_the_hosts(self):
        done = self.python("print(open('/proc/self/comm').read(), end=''); print(open('/etc/hostname').read())\n"
                           "import os; print(os.path.exists('/sys/devices/system/cpu'))")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("python", done.stdout)
        self.assertIn("True", done.stdout)

    def test_broken_rules_are_told_and_counted(self):
        broken = CLIENT + "call(kfd, 0x17, 'Q', memory[2] + 5, direction=1)\n"
        done = self.python("import sys\ntry:\n exec(sys.argv[1])\nexcept OSError as e: print(e.errno)", "--check",
                           "error")
        self.assertNotEqual(done.returncode, 0)
        program = "try:\n" + "".join(f"  {line}\n" for line in broken.splitlines()) + "except OSError as e:\n  print(e)"
        done = self.python(program, "--check", "error")
        self.assertIn("[Errno 22]", done.stdout)
        self.assertIn("error AMD-VM-002: handle", done.stderr)
        self.assertIn("1 broken rules", done.stderr)
        self.assertEqual(done.returncode, 1, "the client ended well, and the rule is broken")
        done = self.python(program, "--check", "warn")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("warn AMD-VM-002", done.stderr)
        done = self.python(program, "--check", "off")
        self.assertEqual(done.stderr, "")

    def test_the_trace_has_a_line_per_call(self):
        for name in ("trace.txt", "trace.json"):
            self.assertEqual(self.python(CLIENT, "--trace", name).returncode, 0)
        with open(os.path.join(self.folder.name, "trace.json"), encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        self.assertEqual([line["text"].split()[0] for line in lines],
                         ["GET_VERSION", "ACQUIRE_VM", "ALLOC_MEMORY_OF_GPU"])
        self.assertEqual(lines[2]["fields"]["size"], 0x4000)
        with open(os.path.join(self.folder.name, "trace.txt"), encoding="utf-8") as file:
            self.assertEqual(len(file.readlines()), 3)

    def test_a_forked_child_opens_gpus_of_its_own(self):
        done = self.python(CLIENT + "import errno\n"
                           "def version(node): return call(node, 1, 'II', 0, 0, direction=2)\n"
                           "def refused(node):\n"
                           "  try: version(node)\n"
                           "  except OSError as e: return e.errno == errno.EBADF\n"
                           "def child():\n"
                           "  own = os.open('/dev/kfd', os.O_RDWR)\n"
                           "  print(refused(kfd), version(own), os.fstat(kfd).st_mode >> 12 == 2, flush=True)\n"
                           "  if os.fork() == 0:\n"
                           "    print(refused(kfd), refused(own), flush=True)\n"
                           "    print(version(os.open('/dev/kfd', os.O_RDWR)), flush=True)\n"
                           "    os._exit(0)\n"
                           "  os.wait(); print(version(own), flush=True)\n"
                           "if os.fork() == 0: child(); os._exit(0)\n"
                           "os.wait(); print('parent', version(kfd))\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines()[-5:],
                         ["True (1, 17) True", "True True", "(1, 17)", "(1, 17)", "parent (1, 17)"])

    def test_programs_that_are_started_see_the_machine_too(self):
        done = self.emu("--gpu", "gfx1030", "--", "sh", "-c", "cat /sys/class/kfd/kfd/topology/nodes/1/properties; "
                        "grep -c ^amdgpu /proc/modules")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("gfx_target_version 100300", done.stdout)
        self.assertEqual(done.stdout.splitlines()[-1], "1")

    def test_rules_are_listed(self):
        lines = self.emu("--rules").stdout.splitlines()
        self.assertGreater(len(lines), 60)
        self.assertTrue(any(line.startswith("AMD-QUE-006    always   never") for line in lines), "doorbells of nobody")
        self.assertTrue(all("[" in line for line in lines))

    def test_mistakes_are_named(self):
        self.assertIn("no program", self.emu().stderr)
        done = self.emu("--gpu", "gfx803", "--", "true")
        self.assertEqual(done.returncode, 1)
        self.assertIn("gfx803", done.stderr)
        self.assertIn("gfx1030, gfx1100", done.stderr)
        done = self.emu("--check", "loud", "--", "true")
        self.assertIn("loud", done.stderr)
        self.assertEqual(self.emu("--", "sh", "-c", "exit 7").returncode, 7)

    @unittest.skipUnless(shutil.which("rocminfo"), "no rocminfo here")
    def test_rocminfo_lists_the_gpu(self):
        done = self.emu("--gpu", "gfx1030", "--check", "error", "--", "rocminfo")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("amdgcn-amd-amdhsa--gfx1030", done.stdout)
        self.assertIn("Compute Unit:            80", done.stdout)


if __name__ == "__main__":
    unittest.main()
