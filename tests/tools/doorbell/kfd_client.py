"""A client of the kernel's interface in Python, as a text for `doorbell emu -- python3 -c`, and what runs it.

Whoever imports it is given the path of doorbell as the first argument.
"""

import os
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

# Behind CLIENT: a copy queue of a gfx1100, and the events of a queue that stops, HW_EXCEPTION and MEMORY. Packets as
# Linux's navi10_sdma_pkt_open.h has them: COPY_LINEAR, FENCE with the memory type 3 (uncached) of sdma_v6_0.c.
QUEUE = """
next_va = 0x7e0000100000
def gtt(size):
    global next_va
    answer = call(kfd, 0x16, 'QQQQII', next_va, size, 0, 0, gpu, flags)
    show(answer[2])
    next_va += 0x100000
    return answer[0], mmap.mmap(drm, size, offset=answer[3])
def show(handle):
    ids = (ctypes.c_uint32 * 1)(gpu)
    call(kfd, 0x18, 'QQII', handle, ctypes.addressof(ids), 1, 0)
def pages(size): return libc.mmap(None, ctypes.c_size_t(size), 3, 0x22, -1, ctypes.c_long(0))
def unmap(at, size): libc.munmap(ctypes.c_void_p(at), ctypes.c_size_t(size))
def userptr(at, size): return call(kfd, 0x16, 'QQQQII', at, size, 0, at, gpu, 0xe0000004)[2]
import ctypes
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
ring_va, ring = gtt(0x1000)
pointers_va, pointers = gtt(0x1000)
to_va, to = gtt(0x1000)
queue = call(kfd, 0x02, 'QQQQIIIIIIQQQIIII', ring_va, pointers_va, pointers_va + 8, 0, 0x1000, gpu, 1, 100, 7, 0,
             0, 0, 0, 0, 0, 0, 0)
bells = mmap.mmap(kfd, 0x2000, offset=queue[3] & ~0x1fff)
stops = [call(kfd, 0x08, 'QIIIIII', 0, 0, kind, 1, 0, 0, 0)[5] for kind in (3, 8)]
def stops_within(milliseconds):
    waited = ctypes.create_string_buffer(96)
    struct.pack_into('I44xI', waited, 40, *stops)
    return call(kfd, 0x0c, 'QIIII', ctypes.addressof(waited), 2, 0, milliseconds, 0)[4] == 0
def is_written(memory, at, value):
    # Waits until the GPU has written it. False if the queue stops instead.
    while struct.unpack('I', memory[at:at + 4])[0] != value:
        if stops_within(1): return False
    return True
put = 0
def copies(source, fence):
    global put
    words = [1, 63, 0, source & 0xffffffff, source >> 32, to_va & 0xffffffff, to_va >> 32,
             5 | 3 << 16, (to_va + 256) & 0xffffffff, to_va >> 32, fence]
    ring[put:put + 44] = struct.pack('11I', *words)
    put += 44
    pointers[0:8] = struct.pack('Q', put)
    at = queue[3] & 0x1fff
    bells[at:at + 8] = struct.pack('Q', put)
    return is_written(to, 256, fence)
"""

# Behind QUEUE: a compute queue of a gfx1100, and a dispatch of one wave. RELEASE_MEM as Linux's soc21d.h has it: after
# the work before it (CACHE_FLUSH_AND_INV_TS_EVENT, EVENT_INDEX 5), 32 bits of data (DATA_SEL 1).
COMPUTE = """
props = dict(line.split() for line in open(NODES + '/1/properties'))
cwsr, stack = int(props['cwsr_size']), int(props['ctl_stack_size'])
eop_va, _ = gtt(0x1000)
next_va += -next_va % 0x4000000
waves_va, _ = gtt((cwsr + 96 * 32 * 32 + 4095) & ~4095)
next_va += 0x4000000
words_va, words_of = gtt(0x1000)
pointers2_va, pointers2 = gtt(0x1000)
code_va, code = gtt(0x1000)
end_va, end = gtt(0x1000)
compute = call(kfd, 0x02, 'QQQQIIIIIIQQQIIII', words_va, pointers2_va, pointers2_va + 8, 0, 0x1000, gpu, 0, 100, 7, 0,
               eop_va, 0x1000, waves_va, cwsr, stack, 0, 0)
dispatch = [0xc0037600, 0x207, 32, 1, 1, 0xc0027600, 0x20c, code_va >> 8 & 0xffffffff, code_va >> 40,
         0xc0027600, 0x212, 0x600f0000, 2 << 1, 0xc0027600, 0x240, 0, 0, 0xc0031500, 1, 1, 1, 1 | 1 << 2 | 1 << 15]
def submit(words):
    words_of[0:len(words) * 4] = struct.pack(f'{len(words)}I', *words)
    pointers2[0:8] = struct.pack('Q', len(words))
    at = compute[3] & 0x1fff
    bells[at:at + 8] = struct.pack('Q', len(words))
def copy_engine(words):
    ring[0:len(words) * 4] = struct.pack(f'{len(words)}I', *words)
    pointers[0:8] = struct.pack('Q', len(words) * 4)
    at = queue[3] & 0x1fff
    bells[at:at + 8] = struct.pack('Q', len(words) * 4)
def wait(milliseconds): print('waited', 0 if stops_within(milliseconds) else 1)
def run(words):
    submit(words + [0xc0064900, 0x14 | 5 << 8, 1 << 29, end_va & 0xffffffff, end_va >> 32, 1, 0, 0])
    print('ended' if is_written(end, 0, 1) else 'stopped')
"""


class EmulatedCase(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.folder.cleanup()

    def emu(self, *arguments):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("EMU_")}
        return subprocess.run([TOOL, "emu", *arguments], env=clean, capture_output=True, text=True, timeout=100,
                              cwd=self.folder.name)

    def python(self, program, *options):
        return self.emu(*options, "--", sys.executable, "-c", program)
