"""Runs `doorbell trace` as a user does: on a program that asks a file which is no GPU, and, where there is an emulated
one, on a client that copies by a queue.

usage: trace_test.py PATH_OF_DOORBELL
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL = os.path.abspath(sys.argv.pop(1))

# GET_VERSION, as include/uapi/linux/kfd_ioctl.h numbers it; the terminal's window size; the keyboard's type.
STRANGER = """
import fcntl, os, sys
null = os.open("/dev/null", os.O_RDWR)
for request in (0x80084B01, 0x5413, 0x4B33):
    try:
        fcntl.ioctl(null, request, bytearray(8))
    except OSError as error:
        print(error.errno)
sys.exit(3)
"""

# A copy queue of 1024 words, which writes 9 to the cell behind its pointers: FENCE of SDMA, mtype 3.
CLIENT = """
import ctypes, fcntl, mmap, os, struct, time
def call(fd, number, layout, *values, direction=3):
    data = bytearray(struct.pack(layout, *values))
    fcntl.ioctl(fd, direction << 30 | len(data) << 16 | ord('K') << 8 | number, data, True)
    return struct.unpack(layout, data)
kfd = os.open('/dev/kfd', os.O_RDWR)
gpu = int(open('/sys/devices/virtual/kfd/kfd/topology/nodes/1/gpu_id').read())
drm = os.open('/dev/dri/renderD128', os.O_RDWR)
call(kfd, 0x15, 'II', drm, gpu, direction=1)
ids = (ctypes.c_uint32 * 1)(gpu)
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
def memory(va):
    # Host memory, uncached, at one address for both.
    got = call(kfd, 0x16, 'QQQQII', va, 4096, 0, 0, gpu, 0xf6000002)
    call(kfd, 0x18, 'QQII', got[2], ctypes.addressof(ids), 1, 0)
    assert libc.mmap(va, 4096, 3, mmap.MAP_SHARED | 0x10, drm, got[3]) == va
    return (ctypes.c_uint32 * 1024).from_address(va)
ring, cells = memory(0x7e0000000000), memory(0x7e0000001000)
queue = call(kfd, 2, 'QQQQIIIIIIQQQIIII', 0x7e0000000000, 0x7e0000001000, 0x7e0000001008, 0, 4096, gpu, 1, 100, 7,
             0, 0, 0, 0, 0, 0, 0, 0)
page = mmap.mmap(kfd, 8192, offset=queue[3] & ~0x1fff)
ring[0:4] = [0x30005, 0x00001010, 0x7e00, 9]
cells[0] = 16
page[queue[3] & 0x1fff:][:8]
struct.pack_into('<Q', page, queue[3] & 0x1fff, 16)
end = time.time() + 20
while cells[4] != 9 and time.time() < end:
    time.sleep(0.001)
print('fence', cells[4])
call(kfd, 3, 'II', queue[9], 0)
"""

# Cases of the conformance suite that launch no kernel, so that no compiler is needed.
COPIES = "^memory/bytes/odd$"


def run(*args):
    return subprocess.run([TOOL, *args], capture_output=True, text=True, timeout=100)


class Trace(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "lines")

    def tearDown(self):
        self.folder.cleanup()

    def lines(self):
        with open(self.path, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def test_lines_on_standard_error_and_the_programs_own_end(self):
        result = run("trace", "--", sys.executable, "-c", STRANGER)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertEqual(result.stdout.split(), ["25", "25", "25"])  # ENOTTY reaches the program
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn("ioctl", result.stderr)
        self.assertIn("GET_VERSION major_version=0 minor_version=0 -> -25 (", result.stderr)

    def test_the_library_beside_a_copy_of_the_program(self):
        # As `scripts/hw pack` puts them.
        program = os.path.join(self.folder.name, "bin", "doorbell")
        library = os.path.join(self.folder.name, "lib", "libdoorbell_trace.so")
        for path, built in ((program, TOOL), (library, os.path.join(os.path.dirname(TOOL), "libdoorbell_trace.so"))):
            os.mkdir(os.path.dirname(path))
            shutil.copy(built, path)
        command = [program, "trace", "--", "sh", "-c", "echo $LD_PRELOAD"]
        result = subprocess.run(command, capture_output=True, text=True, timeout=100)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(os.path.realpath(result.stdout.split(":")[0].strip()), os.path.realpath(library))

    def test_json_into_a_file(self):
        result = run("trace", "--json", "-o", self.path, "--", sys.executable, "-c", STRANGER)
        self.assertEqual(result.stderr, "")
        line, = self.lines()
        self.assertEqual(line["kind"], "ioctl")
        self.assertEqual(line["fields"], {"ioctl": "GET_VERSION", "major_version": 0, "minor_version": 0,
                                          "result": -25})

    def test_a_client_of_an_emulated_gpu(self):
        result = run("emu", "--", TOOL, "trace", "--json", "-o", self.path, "--", sys.executable, "-c", CLIENT)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout, "fence 9\n")
        lines = self.lines()
        calls = [line["fields"]["ioctl"] for line in lines if line["kind"] == "ioctl"]
        self.assertEqual(calls, ["ACQUIRE_VM", "ALLOC_MEMORY_OF_GPU", "MAP_MEMORY_TO_GPU", "ALLOC_MEMORY_OF_GPU",
                                 "MAP_MEMORY_TO_GPU", "CREATE_QUEUE", "DESTROY_QUEUE"])
        self.assertEqual([line["fields"]["bytes"] for line in lines if line["kind"] == "map"], [4096, 4096, 8192])
        packet, = [line for line in lines if line["kind"] == "packet"]
        self.assertEqual(packet["fields"]["packet"], "FENCE")
        self.assertEqual(packet["fields"]["fields"]["addr"], 0x7E0000001010)
        self.assertEqual(packet["fields"]["fields"]["data"], 9)

    def test_the_form_for_perfetto_filters_and_limits(self):
        path = self.path + ".json"
        for options, names in (((), ["ACQUIRE_VM", "FENCE"]), (("--only", "packet"), ["FENCE"]),
                               (("--limit", "200"), [])):
            result = run("emu", "--", TOOL, "trace", *options, "-o", path, "--", sys.executable, "-c", CLIENT)
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(path, encoding="utf-8") as file:
                events = json.load(file)
            found = [event["name"] for event in events]
            self.assertEqual([name for name in ("ACQUIRE_VM", "FENCE") if name in found], names)
            self.assertEqual(any("the trace ends here" in name for name in found), "--limit" in options)
        self.assertIn("no line of a trace is of kind", run("trace", "--only", "x", "--", "true").stderr)

    def test_a_client_of_an_emulated_nvidia_gpu(self):
        folder = os.path.join(self.folder.name, "capture")
        result = run("emu", "--gpu", "sm_86", "--", TOOL, "trace", "-o", self.path, "--capture", folder, "--", TOOL,
                     "conformance", "--device", "NV", "--filter", COPIES)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        with open(self.path, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("UVM_REGISTER_GPU_VASPACE_PARAMS", text)
        channel = r"ioctl +NVOS21_PARAMETERS .*hClass=0xc56f .*\| NV_CHANNEL_ALLOC_PARAMS .*gpFifoEntries=0x1000 "
        self.assertRegex(text, channel)
        self.assertRegex(text, r"\| NV0000_CTRL_SYSTEM_GET_BUILD_VERSION_V2_PARAMS driverVersionBuffer='580\.95\.05' ")
        kept = sorted(os.listdir(folder))
        self.assertGreater(len(kept), 1)
        copies = 0
        for name in kept:
            here = os.path.join(folder, name)
            with open(os.path.join(here, "decode"), encoding="utf-8") as file:
                words = file.read().split()
            decoded = subprocess.run([TOOL, *words[1:]], cwd=here, capture_output=True, text=True, timeout=60)
            self.assertEqual(decoded.returncode, 0, decoded.stdout + decoded.stderr)
            self.assertIn("GP_ENTRY addr=", decoded.stdout)
            # Without the numbers of words. A chip's name says the class where an earlier submission bound it.
            printed = [line.split(None, 1)[1] for line in decoded.stdout.splitlines()]
            with open(os.path.join(here, "packets.txt"), encoding="utf-8") as file:
                self.assertEqual([line.strip() for line in file.read().splitlines()], printed)
            copies += decoded.stdout.count("LAUNCH_DMA")
        self.assertGreater(copies, 0)

    def test_a_file_that_cannot_be_written(self):
        for path, why in ((self.folder.name, "Is a directory"), ("/nowhere/lines", "No such file or directory")):
            result = run("trace", "-o", path, "--", "true")
            self.assertEqual(result.returncode, 1)
            self.assertIn(f"open {path}: {why}", result.stderr)
        self.assertTrue(os.path.isdir(self.folder.name))

    def test_what_an_older_run_wrote_is_gone(self):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("older\n")
        self.assertEqual(run("trace", "-o", self.path, "--", "true").returncode, 0)
        self.assertEqual(os.path.getsize(self.path), 0)

    def test_a_program_that_is_not_there(self):
        result = run("trace", "--", "/nowhere")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("/nowhere", result.stderr)


unittest.main()
