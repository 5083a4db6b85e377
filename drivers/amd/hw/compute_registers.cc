// Names of SH registers by address.
#include "drivers/amd/hw/compute_registers.h"

namespace doorbell::amd::hw {

namespace {

// clang-format off: a table
constexpr Register kNamed[] = {
    kComputeDispatchInitiator,
    everywhere("COMPUTE_DIM_X", 0x2e01),
    everywhere("COMPUTE_DIM_Y", 0x2e02),
    everywhere("COMPUTE_DIM_Z", 0x2e03),
    kComputeStartX,
    everywhere("COMPUTE_START_Y", 0x2e05),
    everywhere("COMPUTE_START_Z", 0x2e06),
    kComputeNumThreadX,
    everywhere("COMPUTE_NUM_THREAD_Y", 0x2e08),
    everywhere("COMPUTE_NUM_THREAD_Z", 0x2e09),
    everywhere("COMPUTE_PIPELINESTAT_ENABLE", 0x2e0a),
    everywhere("COMPUTE_PERFCOUNT_ENABLE", 0x2e0b),
    kComputePgmLo,
    everywhere("COMPUTE_PGM_HI", 0x2e0d),
    kComputeDispatchPktAddrLo,
    everywhere("COMPUTE_DISPATCH_PKT_ADDR_HI", 0x2e0f),
    kComputeDispatchScratchBaseLo,
    everywhere("COMPUTE_DISPATCH_SCRATCH_BASE_HI", 0x2e11),
    kComputePgmRsrc1,
    kComputePgmRsrc2,
    kComputeVmid,
    kComputeResourceLimits,
    kComputeStaticThreadMgmtSe0,
    everywhere("COMPUTE_STATIC_THREAD_MGMT_SE1", 0x2e17),
    kComputeTmpringSize,
    kComputeStaticThreadMgmtSe2,
    everywhere("COMPUTE_STATIC_THREAD_MGMT_SE3", 0x2e1a),
    kComputeRestartX,
    everywhere("COMPUTE_RESTART_Y", 0x2e1c),
    everywhere("COMPUTE_RESTART_Z", 0x2e1d),
    kComputeThreadTraceEnable,
    everywhere("COMPUTE_MISC_RESERVED", 0x2e1f),
    everywhere("COMPUTE_DISPATCH_ID", 0x2e20),
    everywhere("COMPUTE_THREADGROUP_ID", 0x2e21),
    kComputePgmRsrc3,
    kComputeTgChunkSize,
    kComputeStaticThreadMgmtSe4,
    {"COMPUTE_STATIC_THREAD_MGMT_SE5", 0, 0x2e2c, 0x2e2c, 0x2e2c},
    {"COMPUTE_STATIC_THREAD_MGMT_SE6", 0, 0x2e2d, 0x2e2d, 0x2e2d},
    {"COMPUTE_STATIC_THREAD_MGMT_SE7", 0, 0x2e2e, 0x2e2e, 0x2e2e},
    kComputeDispatchInterleave,
    {"COMPUTE_REQ_CTRL", 0, 0x2e22, 0x2e22, 0x2e22},
    kComputeUserData0,
    everywhere("COMPUTE_USER_DATA_1", 0x2e41),
    everywhere("COMPUTE_USER_DATA_2", 0x2e42),
    everywhere("COMPUTE_USER_DATA_3", 0x2e43),
    everywhere("COMPUTE_USER_DATA_4", 0x2e44),
    everywhere("COMPUTE_USER_DATA_5", 0x2e45),
    everywhere("COMPUTE_USER_DATA_6", 0x2e46),
    everywhere("COMPUTE_USER_DATA_7", 0x2e47),
    everywhere("COMPUTE_USER_DATA_8", 0x2e48),
    everywhere("COMPUTE_USER_DATA_9", 0x2e49),
    everywhere("COMPUTE_USER_DATA_10", 0x2e4a),
    everywhere("COMPUTE_USER_DATA_11", 0x2e4b),
    everywhere("COMPUTE_USER_DATA_12", 0x2e4c),
    everywhere("COMPUTE_USER_DATA_13", 0x2e4d),
    everywhere("COMPUTE_USER_DATA_14", 0x2e4e),
    everywhere("COMPUTE_USER_DATA_15", 0x2e4f),
};
// clang-format on

}  // namespace

std::string_view register_name(Generation generation, u32 address) {
  for (const Register& one : kNamed)
    if (address != 0 && one.at(generation) == address) return one.name;
  return {};
}

}  // namespace doorbell::amd::hw
