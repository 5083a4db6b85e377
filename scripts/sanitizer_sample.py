"""Says what a sanitizer watches and which tests it runs: a part by its name, or a sample that a seed chooses.

usage: sanitizer_sample.py address|thread                     prints the names of the parts
       sanitizer_sample.py address|thread SEED|PART           prints the folders to watch: meson's option `sanitized`
       sanitizer_sample.py address|thread SEED|PART FOLDER    prints the names of tests, a line each; FOLDER is the
                                                              build's

A sample watches one part of the sources, and runs all of that part's own tests and one of the longer tests that use it.
A part by its name runs all of the longer tests, too; all parts together run every test.
The rest is what the compiler cache has of the plain build, so that a sample builds soon. The thread sanitizer must also
see whatever orders accesses, so that its parts have all below them.
"""
import fnmatch
import json
import os
import random
import sys

AMD = ["emulator/core", "emulator/amd/isa", "emulator/amd/compute", "emulator/amd/cp", "emulator/amd/kfd"]
QUEUES = ["base", "core", "hcq", "drivers/cpu", "drivers/null", "drivers/cl", "drivers/disk", "drivers/webgpu"]

# part: watched folders, patterns of the tests that run, patterns of those of which a sample runs one
ADDRESS = {
    "base": (["base", "tests/base"], ["base", "bits_fuzz"], []),
    "core": (["core", "tests/core"], ["core", "graph_text_fuzz"], ["e2e", "shared_cache", "language_model"]),
    "codegen": (
        ["codegen", "tests/codegen"],
        ["elf_fuzz", "kernel_binary_fuzz"],
        ["codegen", "conformance compiles *", "doorbell-export*", "doorbell-disasm", "abacus_example"]),
    "drivers": (
        ["hcq", "drivers/cpu", "drivers/null", "drivers/disk", "drivers/cl", "drivers/mpi", "drivers/webgpu",
         "tests/hcq", "tests/dist", "tests/drivers"],
        ["hcq", "drivers", "drivers/webgpu_stand_in", "drivers/nccl_stand_in", "tlsf_fuzz"],
        ["dist on *", "dist faults", "dist beside *", "dist with NCCL", "conformance over *", "conformance CL*",
         "conformance CPU*", "conformance NULL", "conformance WEBGPU*"]),
    "drivers/amd": (
        ["drivers/amd", "drivers/amd/hw", "tests/drivers/amd", "tests/drivers/amd/hw"],
        ["drivers/amd", "drivers/amd/hw", "amd_*_fuzz"],
        ["drivers/amd_emulated", "tools/amd_probe", "conformance on emulated *", "e2e on an emulated *",
         "conformance without a kernel driver on *", "conformance behind USB on *", "doorbell-amd-bare",
         "doorbell-amd-discovery"]),
    "drivers/nv": (
        ["drivers/nv", "drivers/nv/hw", "drivers/cuda", "tests/drivers/nv", "tests/drivers/nv/hw"],
        ["drivers/nv", "drivers/nv/hw", "nv_*_fuzz"],
        ["drivers/nv_emulated", "drivers/cuda_emulated", "conformance of NV *",
         "doorbell-demo on an emulated sm_*"]),
    "drivers/metal": (
        ["drivers/metal", "emulator/metal", "tests/drivers/metal_emulated", "tests/emulator/metal"],
        ["drivers/metal_emulated", "emulator/metal", "drivers/metal compiles for a Mac"],
        ["conformance on an emulated Metal"]),
    "emulator/amd/isa": (
        ["emulator/amd/isa"],
        ["amd_instructions_fuzz"],
        ["emulator/amd/isa", "emulator/amd/compute", "conformance on an emulated gfx*"]),
    "emulator/amd": (
        ["emulator/core", "emulator/amd/compute", "emulator/amd/cp", "emulator/amd/kfd"],
        ["emulator/core", "emulator/amd/bare", "emulator/amd/cp", "emulator/amd/kfd", "amd_rings_fuzz",
         "kfd_ioctls_fuzz"],
        ["emulator/amd/mutation", "doorbell-emu", "doorbell-emu-bare", "doorbell-emu-break", "doorbell-emu-count",
         "doorbell-emu-hip", "doorbell-emu-races", "doorbell-amd-probe", "doorbell-trace",
         "doorbell-demo on an emulated gfx*"]),
    "emulator/nv": (
        ["emulator/nv", "emulator/cuda"],
        ["emulator/cuda"],
        ["emulator/nv", "emulator/nv/ptx", "emulator/nv/mutation", "conformance on an emulated sm_*",
         "conformance of persistent groups *", "opcodes of NVIDIA", "doorbell-emu-cuda", "doorbell-emu-numba",
         "doorbell-emu-nv", "doorbell-emu-tinygrad"]),
    "tensor": (
        ["tensor", "tests/tensor"],
        ["archive_fuzz", "idx_fuzz", "safetensors_fuzz", "torch_file_fuzz"],
        ["tensor", "tensor_clang", "examples"]),
    "runtime": (
        ["runtime", "runtime/emulated", "tools", "conformance", "examples"],
        ["runtime", "conformance", "doorbell-devices", "doorbell-command-line", "doorbell-decode", "tools/trace"],
        ["conformance ABACUS", "doorbell-bench-*", "doorbell-conformance", "doorbell-demo", "doorbell_demo",
         "doorbell-graph", "doorbell-profile", "doorbell-progress", "doorbell-tune", "hw_run"]),
    "python": (["python"], [], ["python", "python_[!w]*"]),
}
THREAD = {
    "base": (["base", "tests/base"], ["base"], []),
    "core": (["base", "core", "tests/core"], ["core"], []),
    "drivers": ([*QUEUES, "tests/hcq", "tests/drivers"], ["hcq", "drivers"], []),
    "emulator/amd": (
        ["base", "drivers/amd/hw", *AMD, "tests/emulator/core", "tests/emulator/amd/cp", "tests/emulator/amd/isa",
         "tests/emulator/amd/kfd"],
        ["emulator/core"],
        ["emulator/amd/cp", "emulator/amd/isa", "emulator/amd/kfd"]),
    "emulator/cuda": (
        ["base", "core", "codegen", "hcq", "drivers/cuda", "drivers/nv/hw", "emulator/core", "emulator/nv",
         "emulator/cuda", "tests/emulator/cuda", "tests/drivers/cuda_emulated"],
        ["emulator/cuda", "drivers/cuda_emulated"],
        []),
    "runtime": (
        [*QUEUES, "codegen", "tensor", "runtime", "conformance", "python", "tests/runtime", "tests/conformance",
         "tests/tensor"],
        ["runtime"],
        ["tensor", "conformance", "python_threads"]),
}
SAMPLES = {"address": ADDRESS, "thread": THREAD}


def matching(names, patterns):
    return [name for name in names if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]


def chosen(sanitizer, seed, names):
    """(watched folders, names of the tests to run) of a seed."""
    choose = random.Random(f"{sanitizer} {seed}")  # other choices that the seed makes are by its remainders
    folders, always, one_of = choose.choice(list(SAMPLES[sanitizer].values()))
    run, longer = matching(names, always), matching(names, one_of)
    if longer:
        run.append(choose.choice(longer))
    return folders, run


def whole(sanitizer, part, names):
    """(watched folders, names of the tests to run) of a part."""
    folders, always, one_of = SAMPLES[sanitizer][part]
    return folders, matching(names, [*always, *one_of])


def test_names(folder):
    with open(os.path.join(folder, "meson-info", "intro-tests.json"), encoding="utf-8") as file:
        return [test["name"] for test in json.load(file)]


def main():
    sanitizer, *rest = sys.argv[1:]
    if not rest:
        print(*SAMPLES[sanitizer], sep="\n")
        return
    names = test_names(rest[1]) if len(rest) > 1 else []
    if rest[0] in SAMPLES[sanitizer]:
        folders, run = whole(sanitizer, rest[0], names)
    elif rest[0].isdigit():
        folders, run = chosen(sanitizer, int(rest[0]), names)
    else:
        sys.exit(f"no part of the {sanitizer} sanitizer is named {rest[0]}; parts are {', '.join(SAMPLES[sanitizer])}")
    if len(rest) > 1:
        print(*run, sep="\n")
    else:
        print(",".join(folders))


if __name__ == "__main__":
    main()
