// The rules that an emulated NVIDIA GPU checks while it runs kernels, as `NV-...` of
// emulator/core/checks.h. The interpreter reports them; Checks decides on the level of each.
#pragma once

#include <span>

#include "emulator/core/checks.h"

namespace doorbell::emu::nvgpu {

inline constexpr Check kUnknownInstruction{
    "NV-CODE-001", "an instruction is one that the chip, or this emulator, has",
    "nvdisasm",    Power::Full,
    Power::Full,   false,
    true};
inline constexpr Check kCodeFetch{"NV-CODE-002",
                                  "instructions are fetched from the kernel's code",
                                  "CUDA driver API, CUDA_ERROR_INVALID_PC",
                                  Power::Full,
                                  Power::Full,
                                  false,
                                  true};
inline constexpr Check kEndlessKernel{"NV-CODE-003",
                                      "a warp ends before the launch's limit of instructions",
                                      "CUDA driver API, CUDA_ERROR_LAUNCH_TIMEOUT",
                                      Power::Full,
                                      Power::Full,
                                      false,
                                      true};
inline constexpr Check kUndefinedRegister{
    "NV-CODE-004",
    "an address, a branch or a barrier does not depend on a register that was "
    "never written",
    "PTX ISA, \"Operands\": the value of an uninitialised register is undefined"};
inline constexpr Check kMissingWait{"NV-CODE-005",
                                    "a register is used after its scoreboard was waited for",
                                    "Mesa NAK, sm70_encode.rs set_instr_deps"};
inline constexpr Check kGlobalAccess{"NV-MEM-001",
                                     "global accesses are to mapped memory that allows them",
                                     "CUDA driver API, CUDA_ERROR_ILLEGAL_ADDRESS",
                                     Power::Full,
                                     Power::Full,
                                     false,
                                     true};
inline constexpr Check kMisaligned{"NV-MEM-002",
                                   "an address is a multiple of the access's size",
                                   "CUDA driver API, CUDA_ERROR_MISALIGNED_ADDRESS",
                                   Power::Full,
                                   Power::Full,
                                   false,
                                   true};
inline constexpr Check kSharedAccess{"NV-MEM-003",
                                     "shared accesses are within the block's shared memory",
                                     "PTX ISA, \"State spaces: .shared\"",
                                     Power::Full,
                                     Power::Full,
                                     false,
                                     true};
inline constexpr Check kLocalAccess{"NV-MEM-004",
                                    "local accesses are within the thread's local memory",
                                    "PTX ISA, \"State spaces: .local\"",
                                    Power::Full,
                                    Power::Full,
                                    false,
                                    true};
inline constexpr Check kConstantAccess{"NV-MEM-005",
                                       "constants are read within a bank",
                                       "PTX ISA, \"State spaces: .const\"",
                                       Power::Full,
                                       Power::Full,
                                       false,
                                       true};
inline constexpr Check kUndefinedShared{"NV-MEM-006", "shared memory is written before it is read",
                                        "PTX ISA, \"State spaces: .shared\""};
inline constexpr Check kSharedRace{
    "NV-MEM-007", "between two barriers, no warp accesses shared memory that another one writes",
    "PTX ISA, \"Parallel synchronization: bar\""};
inline constexpr Check kBarrier{"NV-SYNC-001",
                                "all threads of a block reach its barrier",
                                "PTX ISA, \"Parallel synchronization: bar\"",
                                Power::Full,
                                Power::Full,
                                false,
                                true};
inline constexpr Check kConvergence{
    "NV-SYNC-002",
    "the threads of a warp that a convergence barrier waits for arrive at it",
    "NVIDIA Volta architecture white paper, \"Independent thread scheduling\"",
    Power::Full,
    Power::Full,
    false,
    true};

inline constexpr Check kWarpSync{
    "NV-SYNC-005", "the threads of a warp that a __syncwarp() names execute it, unless they ended",
    "CUDA Programming Guide 13, \"Synchronization Functions\": __syncwarp() (\"or the result is "
    "undefined\"); PTX ISA, \"bar.warp.sync\""};
inline constexpr Check kPendingCopy{
    "NV-MEM-008",
    "shared memory that LDGSTS writes is accessed after the warp waited for its group",
    "PTX ISA, \"cp.async\""};
inline constexpr Check kWholeWarp{"NV-CODE-007",
                                  "all lanes of a warp execute its matrix instructions",
                                  "PTX ISA, \"mma\", \"ldmatrix\": .aligned"};

inline constexpr Check kRegisterCount{
    "NV-CODE-008",
    "an instruction uses registers that the launch allocates",
    "Linux drivers/gpu/drm/nouveau/nvkm/engine/gr/gf100.c gf100_mp_warp_error, OOR_REG",
    Power::Full,
    Power::Full,
    false,
    true};
inline constexpr Check kBarrierCount{
    "NV-SYNC-004",
    "a barrier is one of those that the launch counts",
    "clc7c0qmd.h BARRIER_COUNT; PTX ISA, \"Parallel synchronization: bar\"",
    Power::Full,
    Power::Full,
    false,
    true};

inline constexpr Check kMbarrier{
    "NV-SYNC-003",
    "an mbarrier is initialised, and gets the arrivals and bytes that it expects",
    "PTX ISA, \"Parallel synchronization: mbarrier\"",
    Power::Full,
    Power::Full,
    false,
    true};

inline constexpr Check kTrap{"NV-CODE-006",
                             "a kernel executes no trap",
                             "PTX ISA, \"trap\"",
                             Power::Full,
                             Power::Full,
                             false,
                             true};

inline constexpr Check kGlobalRace{
    "NV-RACE-002",
    "two warps do not access the same bytes of memory, one of them writing, unless a barrier, or "
    "an "
    "atomic operation behind a fence, orders them",
    "PTX ISA, \"Memory Consistency Model\", \"Data races\", \"Causality order\"",
    Power::Full,
    Power::Full,
    true};
inline constexpr Check kAgentRace{
    "NV-RACE-003",
    "two of a machine's grids, channels and copies do not access the same bytes, one of them "
    "writing, unless a wait for idle, a semaphore or a doorbell orders them",
    "doc manuals/ampere/ga100/dev_pbdma.ref.txt, \"Semaphore wait-for-idle option\"; "
    "clc7b5.h NVC7B5_LAUNCH_DMA_DATA_TRANSFER_TYPE; clc7c0.h NVC7C0_WAIT_FOR_IDLE",
    Power::Full,
    Power::Partial,
    true};

inline constexpr const Check* kAllRules[] = {
    &kUnknownInstruction, &kCodeFetch,   &kEndlessKernel, &kUndefinedRegister, &kMissingWait,
    &kGlobalAccess,       &kMisaligned,  &kSharedAccess,  &kLocalAccess,       &kConstantAccess,
    &kUndefinedShared,    &kSharedRace,  &kBarrier,       &kConvergence,       &kTrap,
    &kWarpSync,           &kPendingCopy, &kWholeWarp,     &kMbarrier,          &kRegisterCount,
    &kBarrierCount,       &kGlobalRace,  &kAgentRace,
};

}  // namespace doorbell::emu::nvgpu
