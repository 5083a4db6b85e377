// Lists of fields.
#include "emulator/nv/compute/qmd_unused.h"

#include <fmt/format.h>

#include <span>

namespace doorbell::emu::nvgpu {

namespace {

namespace hw = nv::hw;
using enum hw::QmdField;

// Fields, and the field that turns them on; of arrays element by element.
struct Gated {
  hw::QmdField by;
  std::vector<hw::QmdField> fields;
};

// [clc7c0qmd.h, clcbc0qmd.h: their names]
const std::vector<Gated>& gated_fields() {
  static const std::vector<Gated> kGated = {
      {Release0Enable,
       {Release0StructureSize, Release0MembarType, Release0ReductionEnable, Release0ReductionOp,
        Release0ReductionFormat, Release0TrapType, Release0Payload64b, Release0Addr,
        Release0Payload}},
      {Release1Enable,
       {Release1StructureSize, Release1MembarType, Release1ReductionEnable, Release1ReductionOp,
        Release1ReductionFormat, Release1TrapType, Release1Payload64b, Release1Addr,
        Release1Payload}},
      {Release2Enable,
       {Release2StructureSize, Release2MembarType, Release2ReductionEnable, Release2ReductionOp,
        Release2ReductionFormat, Release2TrapType, Release2Payload64b, Release2Addr,
        Release2Payload}},
      {DependentQmd0Enable, {DependentQmd0Action, DependentQmd0Prefetch, DependentQmd0Pointer}},
      {DependentQmd1Enable, {DependentQmd1Action, DependentQmd1Prefetch, DependentQmd1Pointer}},
      {ConstantBufferValid,
       {ConstantBufferAddr, ConstantBufferSize, ConstantBufferPrefetch, ConstantBufferPrefetchPost,
        ConstantBufferInvalidate}},
      {IsQueue,
       {CircularQueueSize, CircularQueueAddr, CircularQueueEntrySize, CoalesceWaitingPeriod,
        QueueEntriesPerCtaLog2, InnerGet, InnerOverflow, InnerPut, InnerStickyOverflow, OuterGet,
        OuterOverflow, OuterPut, OuterStickyOverflow}},
      {ArriveAtLatchValid, {ArriveAtLatchId}},
      {WaitOnLatchValid,
       {WaitOnLatchId, LatchAcquireInvalidateShaderDataCache,
        LatchAcquireInvalidateTextureDataCache}},
      {TpcDisableMaskValid, {TpcDisableMask}},
      {CwdReferenceCountIncrEnable, {CwdReferenceCountDeltaMinusOne, CwdReferenceCountId}},
      {ProgramPrefetchSize,
       {ProgramPrefetchAddrLowerShifted, ProgramPrefetchAddrUpperShifted, ProgramPrefetchType}},
      {GpcCgaWidth, {CgaCtaDistributionMode}},
  };
  return kGated;
}

constexpr hw::QmdField kUnknown[] = {OccupancyThresholdWarp,
                                     OccupancyMaxWarp,
                                     OccupancyThresholdRegister,
                                     OccupancyMaxRegister,
                                     OccupancyThresholdSharedMem,
                                     OccupancyMaxSharedMem,
                                     SharedAllocationEnable,
                                     FreeCtaSlotsEmptySm,
                                     CtaLaunchQueue,
                                     AddToHeadOfQmdGroupLinkedList,
                                     DemoteL2EvictLast,
                                     ConstantBufferPrefetchPreMaxSize,
                                     CwdMembarTaskChasingEnable,
                                     SyncDomainId,
                                     CorrelationId,
                                     CorrelationIdInternal,
                                     DebugId,
                                     DebugIdUpper,
                                     DebugIdLower};

// Waiting for other grids, ending early, beginning in the middle, and leaving out multiprocessors.
constexpr hw::QmdField kNotEmulated[] = {ArriveAtLatchValid,
                                         WaitOnLatchValid,
                                         PreExitAtLastCtaLaunch,
                                         EnableProgramPreExit,
                                         CwdReferenceCountIncrEnable,
                                         CwdReferenceCountDecrEnable,
                                         SelfCopyOnCompletion,
                                         GridWidthResume,
                                         GridHeightResume,
                                         GridDepthResume,
                                         TpcDisableMaskValid,
                                         SmDisableMask};

// Blocks of a cluster; 0 and 1 are none.
constexpr hw::QmdField kClusters[] = {GpcCgaWidth, GpcCgaHeight, GpcCgaDepth,
                                      GpuCgaWidth, GpuCgaHeight, GpuCgaDepth};

std::vector<std::string> fields_above(const hw::Qmd& qmd, std::span<const hw::QmdField> fields,
                                      u64 most) {
  std::vector<std::string> found;
  for (const hw::QmdField field : fields)
    if (qmd.get(field) > most)
      found.push_back(fmt::format("{} is {:#x}", hw::Qmd::name(field), qmd.get(field)));
  return found;
}

}  // namespace

std::vector<std::string> unused_fields(const hw::Qmd& qmd) {
  std::vector<std::string> found;
  for (const Gated& gated : gated_fields())
    for (const hw::QmdField field : gated.fields)
      for (u32 i = 0; i < hw::Qmd::elements(field); ++i) {
        const bool is_array = hw::Qmd::elements(gated.by) > 1;
        if (qmd.get(field, i) == 0 || qmd.get(gated.by, is_array ? i : 0) != 0) continue;
        const std::string element = is_array ? fmt::format("({})", i) : "";
        found.push_back(fmt::format("{}{} is {:#x}, {}{} is 0", hw::Qmd::name(field), element,
                                    qmd.get(field, i), hw::Qmd::name(gated.by), element));
      }
  return found;
}

std::vector<std::string> unknown_fields(const hw::Qmd& qmd) {
  return fields_above(qmd, kUnknown, 0);
}

std::vector<std::string> fields_not_emulated(const hw::Qmd& qmd) {
  std::vector<std::string> found = fields_above(qmd, kNotEmulated, 0);
  const std::vector<std::string> clusters = fields_above(qmd, kClusters, 1);
  found.insert(found.end(), clusters.begin(), clusters.end());
  return found;
}

}  // namespace doorbell::emu::nvgpu
