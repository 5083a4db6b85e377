"""A HIP program by ctypes: on each GPU, copies, a kernel compiled at run time, one with private memory by a stream, in
small grids and in one that fills the GPU, before and after its scratch is given back; between two GPUs, a copy.

usage: hip_client.py CHIP, with the libraries of ROCm 6 (hip_test.py)
"""

import array
import ctypes
import sys

HIP = ctypes.CDLL("libamdhip64.so.6")
COMPILER = ctypes.CDLL("libhiprtc.so.6")
RUNTIME = ctypes.CDLL("libhsa-runtime64.so.1")
COUNT, GROUP = 10_000, 256
WAVES = 10_000  # more than any of the GPUs has slots for scratch
AGENT_DEVICE, DEVICE_GPU = 17, 1  # HSA_AGENT_INFO_DEVICE, HSA_DEVICE_TYPE_GPU
TO_DEVICE, TO_HOST = 1, 2  # hipMemcpyKind

SOURCE = b"""
extern "C" __global__ void scale_and_add(float a, const float* x, const float* y, float* out, int n) {
  __shared__ float local[256];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  local[255 - threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  if (i < n) out[i] = a * local[255 - threadIdx.x] + y[i];
}
// Through private memory: ROCr gives a small grid an area of its own, where firmware can have two.
extern "C" __global__ void count(unsigned* out) {
  volatile unsigned own[64];
  own[threadIdx.x & 63] = 1;
  atomicAdd(out, own[threadIdx.x & 63]);
}
"""


def check(status, what):
    if status:
        sys.exit(f"{what}: error {status}")


def call(name, *arguments):
    check(getattr(HIP, name)(*arguments), name)


def compiled(chip):
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    check(COMPILER.hiprtcCreateProgram(ctypes.byref(program), SOURCE, b"kernels.hip", 0, None, None), "create")
    options = (ctypes.c_char_p * 1)(b"--offload-arch=" + chip.encode())
    check(COMPILER.hiprtcCompileProgram(program, 1, options), "compile")
    check(COMPILER.hiprtcGetCodeSize(program, ctypes.byref(size)), "size")
    code = ctypes.create_string_buffer(size.value)
    check(COMPILER.hiprtcGetCode(program, code), "code")
    return code


def memory(values):
    pointer = ctypes.c_void_p()
    call("hipMalloc", ctypes.byref(pointer), ctypes.c_size_t(len(values) * values.itemsize))
    call("hipMemcpy", pointer, *source(values), TO_DEVICE)
    return pointer


def source(values):
    return ctypes.c_void_p(values.buffer_info()[0]), ctypes.c_size_t(len(values) * values.itemsize)


def launch(function, groups, group, stream, *arguments):
    pointers = (ctypes.c_void_p * len(arguments))(*[ctypes.addressof(a) for a in arguments])
    call("hipModuleLaunchKernel", function, groups, 1, 1, group, 1, 1, 0, stream, pointers, None)


def give_scratch_back():
    """All that queues hold of it, as ROCr does when memory is short; the number of GPUs whose firmware can."""
    agents = []

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p)
    def note(agent, _):
        kind = ctypes.c_int()
        check(RUNTIME.hsa_agent_get_info(ctypes.c_uint64(agent), AGENT_DEVICE, ctypes.byref(kind)), "kind of agent")
        if kind.value == DEVICE_GPU:
            agents.append(agent)
        return 0

    check(RUNTIME.hsa_iterate_agents(note, None), "agents")
    limit = lambda agent, size: RUNTIME.hsa_amd_agent_set_async_scratch_limit(ctypes.c_uint64(agent),
                                                                              ctypes.c_size_t(size))
    able = [agent for agent in agents if limit(agent, 0) == 0]
    for agent in able:
        check(limit(agent, 1 << 30), "limit of scratch")
    return len(able)


def run(device, code):
    call("hipSetDevice", device)
    module, kernel, counter, stream = (ctypes.c_void_p() for _ in range(4))
    call("hipModuleLoadData", ctypes.byref(module), code)
    call("hipModuleGetFunction", ctypes.byref(kernel), module, b"scale_and_add")
    call("hipModuleGetFunction", ctypes.byref(counter), module, b"count")
    x, y = (array.array("f", [i % modulus for i in range(COUNT)]) for modulus in (97, 31))
    got, total = array.array("f", [0] * COUNT), array.array("I", [5])
    in_x, in_y, out, counted = memory(x), memory(y), memory(got), memory(total)
    launch(kernel, -(-COUNT // GROUP), GROUP, None, ctypes.c_float(2.5), in_x, in_y, out, ctypes.c_int(COUNT))
    call("hipStreamCreate", ctypes.byref(stream))
    launch(counter, 7, 100, stream, counted)
    launch(counter, WAVES, 64, stream, counted)
    call("hipStreamSynchronize", stream)
    print("scratch given back by", give_scratch_back())
    launch(counter, 7, 100, stream, counted)
    to, size = source(total)
    call("hipMemcpyAsync", to, counted, size, TO_HOST, stream)
    call("hipStreamSynchronize", stream)
    call("hipMemcpy", source(got)[0], out, source(got)[1], TO_HOST)
    wrong = sum(got[i] != 2.5 * (i % 97) + i % 31 for i in range(COUNT))
    print("device", device, "wrong", wrong, "counted", total[0])
    return out, got


def main():
    code = compiled(sys.argv[1])
    devices = ctypes.c_int()
    call("hipGetDeviceCount", ctypes.byref(devices))
    results = [run(device, code) for device in range(devices.value)]
    if len(results) == 2:
        size = source(results[0][1])[1]
        call("hipMemset", results[1][0], 0, size)
        call("hipMemcpyPeer", results[1][0], 1, results[0][0], 0, size)
        call("hipDeviceSynchronize")
        call("hipMemcpy", *[source(results[1][1])[0], results[1][0], size], TO_HOST)
        print("copied", results[0][1] == results[1][1])


main()
