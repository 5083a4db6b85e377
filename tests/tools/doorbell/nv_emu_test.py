"""Runs `doorbell emu --gpu sm_86` on a client of NVIDIA's device nodes, in Python: it makes a client of RM and maps
video memory twice, by the ioctls of release 580.

usage: nv_emu_test.py PATH_OF_DOORBELL
"""

import json
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

# A file of events, named for the non-stall interrupts of the GPU.
EVENT = CLIENT + """
subdevice = alloc(root, device, 0x2080, bytes(4))
gpu = os.open('/dev/nvidia0', os.O_RDWR)
escape(gpu, 0xc9, struct.pack('i', control))
named = struct.unpack('IIII', escape(gpu, 0xce, struct.pack('IIII', root, device, gpu, 0)))
# NV2080_NOTIFIERS_FIFO_EVENT_MTHD | NV01_EVENT_NONSTALL_INTR | NV01_EVENT_WITHOUT_EVENT_DATA
alloc(root, subdevice, 0x79, struct.pack('IIIIQ', root, subdevice, 0x79, 0x18000023, gpu))
"""

# A channel that interrupts. [the same, alloc_channel.h, uvm_ioctl.h: offsets of release 580 as in
# tests/drivers/nv/hw/data/rm_layouts.txt; clc56f.h NON_STALL_INTERRUPT, dev_usermode.ref.txt]
INTERRUPT = EVENT + """
def record(size, *fields):
    data = bytearray(size)
    for offset, kind, value in fields:
        struct.pack_into(kind, data, offset, value)
    return data
def command(handle, number, parameters):
    buffer = ctypes.create_string_buffer(bytes(parameters), len(parameters))
    call = struct.pack('IIIIQII', root, handle, number, 0, ctypes.addressof(buffer), len(parameters), 0)
    assert struct.unpack('IIIIQII', escape(control, 0x2a, call))[6] == 0
    return buffer.raw
uvm_file = os.open('/dev/nvidia-uvm', os.O_RDWR)
def uvm(number, size, *fields):
    data = record(size, *fields)
    fcntl.ioctl(uvm_file, number, data)
    assert struct.unpack_from('I', data, size - 8 if number in (0x30000001, 0x49) else size - 4)[0] == 0, number
def map_pages(handle, length):
    file = os.open('/dev/nvidia0', os.O_RDWR)
    escape(file, 0xc9, struct.pack('i', control))
    call = struct.pack('IIIxxxxQQQIIixxxx', root, device, handle, 0, length, 0, 0, 0, file)
    assert struct.unpack('IIIxxxxQQQIIixxxx', escape(control, 0x4e, call))[6] == 0
    return mmap.mmap(file, length)

uuid = command(subdevice, 0x2080014a, record(268, (4, 'I', 2), (8, 'I', 16)))[12:28]
space = alloc(root, device, 0x90f1, record(56, (4, 'I', 1 << 3), (8, 'Q', 0x1ffffff0000), (40, 'Q', 0x1000)))
uvm(0x30000001, 16)
uvm(0x25, 40, (0, '16s', uuid), (24, 'i', -1))
uvm(0x19, 32, (0, '16s', uuid), (16, 'i', control), (20, 'I', root), (24, 'I', space))
ADDRESS, SIZE, USERD, PUSHBUFFER, ENTRIES = 0x1000000000, 0x10000, 512, 0x1000, 64
ring = alloc(root, device, 0x40, struct.pack('I60xQ56x', root, SIZE))
words = map_pages(ring, SIZE)
uvm(0x49, 24, (0, 'Q', ADDRESS), (8, 'Q', SIZE))
uvm(0x21, 9264, (0, 'Q', ADDRESS), (8, 'Q', SIZE), (24, '16s', uuid), (40, 'I', 1), (9240, 'Q', 1),
    (9248, 'i', control), (9252, 'I', root), (9256, 'I', ring))
group = alloc(root, device, 0xa06c, record(20, (12, 'I', 1)))
share = alloc(root, group, 0x9067, record(12, (0, 'I', space)))
channel = alloc(root, group, 0xc56f, record(368, (8, 'Q', ADDRESS), (16, 'I', ENTRIES), (24, 'I', share),
                                            (32, 'I', ring), (64, 'Q', USERD)))
token = command(channel, 0xc36f0108, bytes(4))
command(group, 0xa06c0101, b'\\1\\0\\0')
doorbell = map_pages(alloc(root, subdevice, 0xc461), 0x10000)
words[PUSHBUFFER:PUSHBUFFER + 8] = struct.pack('II', 0x20010008, 0)
put = 0
def interrupt():
    global put
    words[8 * put:8 * put + 8] = struct.pack('II', ADDRESS + PUSHBUFFER & 0xffffffff, ADDRESS >> 32 | 2 << 10)
    put += 1
    words[USERD + 0x8c:USERD + 0x90] = struct.pack('I', put)
    doorbell[0x90:0x94] = token
"""


def run(*options, program=CLIENT):
    return subprocess.run([TOOL, "emu", "--gpu", "sm_86", *options, "--", sys.executable, "-c", program],
                          capture_output=True, text=True, timeout=60)


class NvEmu(unittest.TestCase):
    def test_a_client_maps_memory(self):
        done = run("--check", "error")
        self.assertEqual(done.stdout.splitlines(), ["device True False", "memory b'bytes'"], done.stderr)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_file_of_events_can_be_polled(self):
        event = EVENT + """
import select
poller = select.poll()
poller.register(gpu, select.POLLIN)
print('event', named[3], poller.poll(0), stat.S_ISCHR(os.fstat(gpu).st_mode))
"""
        done = run("--check", "error", program=event)
        self.assertEqual(done.stdout.splitlines()[-1], "event 0 [] True", done.stderr)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_an_event_ends_when_it_is_reported(self):
        waits = INTERRUPT + """
import select, socket
libc = ctypes.CDLL(None)
class PollFd(ctypes.Structure):
    _fields_ = [('fd', ctypes.c_int), ('events', ctypes.c_short), ('revents', ctypes.c_short)]
class Time(ctypes.Structure):
    _fields_ = [('seconds', ctypes.c_long), ('nanoseconds', ctypes.c_long)]
class EpollEvent(ctypes.Structure):
    _pack_ = 1
    _fields_ = [('events', ctypes.c_uint32), ('data', ctypes.c_uint64)]
poller, epoll = select.poll(), select.epoll()
poller.register(gpu, select.POLLIN)
epoll.register(gpu, select.EPOLLIN)
def ppoll(seconds):
    return libc.ppoll(ctypes.byref(PollFd(gpu, select.POLLIN, 0)), 1, ctypes.byref(Time(seconds, 0)), None)
def pselect(seconds):
    bits = (ctypes.c_uint64 * 16)()
    bits[gpu // 64] = 1 << gpu % 64
    return libc.pselect(gpu + 1, bits, None, None, ctypes.byref(Time(seconds, 0)), None)
def epoll_pwait(seconds):
    return libc.epoll_pwait(epoll.fileno(), (EpollEvent * 8)(), 8, seconds * 1000, None)
kinds = {'poll': lambda s: len(poller.poll(s * 1000)), 'select': lambda s: len(select.select([gpu], [], [], s)[0]),
         'epoll_wait': lambda s: len(epoll.poll(s)), 'ppoll': ppoll, 'pselect': pselect, 'epoll_pwait': epoll_pwait}
for name, wait in kinds.items():
    interrupt()
    print(name, wait(20), [other(0) for other in kinds.values()])
# An event of before a file is added is not reported: adding it polls it.
interrupt()
socket.socket(fileno=os.dup(gpu)).recv(1, socket.MSG_PEEK)  # until it is there: the file is a socket here
epoll.modify(gpu, select.EPOLLIN)
print('added', epoll.poll(0))
"""
        done = run("--check", "error", program=waits)
        kinds = ["poll", "select", "epoll_wait", "ppoll", "pselect", "epoll_pwait"]
        self.assertEqual(done.stdout.splitlines()[2:], [f"{kind} 1 [0, 0, 0, 0, 0, 0]" for kind in kinds] +
                         ["added []"], done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_memory_is_shared_with_a_child(self):
        shared = CLIENT + """
gpu = os.open('/dev/nvidia0', os.O_RDWR)
call = bytearray(2608)  # nv_ioctl_export_to_dma_buf_fd_t: one object of all its bytes
for offset, kind, value in ((0, 'i', -1), (4, 'I', root), (8, 'I', 1), (12, 'I', 1), (24, 'Q', 8192),
                            (36, 'I', memory), (1576, 'Q', 8192)):
    struct.pack_into(kind, call, offset, value)
call = escape(gpu, 0xd9, call)
descriptor, status = struct.unpack_from('i', call)[0], struct.unpack_from('I', call, 2600)[0]
if os.fork() == 0:
    child = mmap.mmap(descriptor, 8192)
    child[0:5] = child[4096:4101].upper()
    os._exit(0)
os.wait()
print('shared', status, one[0:5])
"""
        done = run("--check", "error", program=shared)
        self.assertEqual(done.stdout.splitlines()[-1], "shared 0 b'BYTES'", done.stderr)
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

    def test_the_kernel_modules_are_asked(self):
        done = subprocess.run([TOOL, "emu", "--gpu", "sm_90", "--check", "off", "--", TOOL, "nv", "probe", "--json"],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        answers = json.loads(done.stdout)
        self.assertEqual(answers["driver"], "580.95.05")
        gpu, = answers["gpus"]
        self.assertEqual((gpu["chip"], gpu["chosen"]["channel"]), ("sm_90", "HOPPER_CHANNEL_GPFIFO_A"))
        self.assertEqual(gpu["classes"]["known"]["0xcbc0"], "HOPPER_COMPUTE_A")
        self.assertEqual(gpu["graphics"]["0xc"], "0x900")  # the version of the SMs
        self.assertEqual((gpu["doorbell"]["BAR0"], gpu["doorbell"]["BAR1"]), ("works", "works"))
        self.assertEqual(gpu["channels"]["AMPERE_CHANNEL_GPFIFO_A"], "works")
        self.assertEqual(answers["uvm"]["a range of one page"], "works")
        self.assertIn("NV_ERR_UVM_ADDRESS_IN_USE", answers["uvm"]["a range that overlaps"]["refused"])
        lines = subprocess.run([TOOL, "emu", "--gpu", "sm_86", "--check", "off", "--", TOOL, "nv", "probe"],
                               capture_output=True, text=True, timeout=60).stdout.splitlines()
        self.assertIn("gpus/0/doorbell/BAR1/refused: the class has no parameters before Hopper", lines)

    @unittest.skipIf(os.path.exists("/dev/nvidiactl"), "there are kernel modules here")
    def test_without_kernel_modules_nobody_answers(self):
        done = subprocess.run([TOOL, "nv", "probe"], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("/dev/nvidiactl does not exist", done.stderr)

    def test_leaks_are_told(self):
        self.assertIn("NV-RM-009: the process ends with 2 objects", run("--leaks").stderr)

    def test_a_driver_that_nobody_compared_is_refused(self):
        done = run("--driver", "535.1")
        self.assertIn("the layouts of driver 535.1 are not known", done.stderr)
        self.assertNotEqual(done.returncode, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
