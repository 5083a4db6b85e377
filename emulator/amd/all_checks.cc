// The list of rules; a test compares it with the headers that define them.
#include "emulator/amd/all_checks.h"

#include <vector>

#include "emulator/amd/cp/rules.h"
#include "emulator/amd/kfd/kfd_checks.h"

namespace doorbell::emu::amdgpu {
namespace {

// clang-format off
constexpr const Check* kCommandProcessorChecks[] = {&kDoorbellStore,
                                                    &kDoorbellWritePointer,
                                                    &kDoorbellBackwards,
                                                    &kDoorbellOverrun,
                                                    &kDoorbellOfNobody,
                                                    &kDoorbellUnits,
                                                    &kPacketCut,
                                                    &kPacketSize,
                                                    &kReservedBits,
                                                    &kPredInRing,
                                                    &kIbMapping,
                                                    &kIbNesting,
                                                    &kIbSdmaSize,
                                                    &kIbChanged,
                                                    &kIbValid,
                                                    &kIbUser,
                                                    &kIbChain,
                                                    &kIbExecutable,
                                                    &kQueueInFlight,
                                                    &kMemoryInFlight,
                                                    &kEndless,
                                                    &kEopBuffer,
                                                    &kEopEvent,
                                                    &kEopSelect,
                                                    &kEopAlignment,
                                                    &kEopOncePerXcc,
                                                    &kEventIndex,
                                                    &kSdmaCount,
                                                    &kSdmaAlignment,
                                                    &kSdmaPoll,
                                                    &kSdmaOverlap,
                                                    &kSdmaPhysical,
                                                    &kSdmaFlush,
                                                    &kSdmaWrap,
                                                    &kDispatchEntry,
                                                    &kDispatchGroup,
                                                    &kDispatchRsrc,
                                                    &kDispatchUserData,
                                                    &kDispatchWave,
                                                    &kDispatchInherited,
                                                    &kDispatchScratch,
                                                    &kDispatchEnable,
                                                    &kDispatchLds,
                                                    &kDispatchLdsLimit,
                                                    &kAqlHeader,
                                                    &kAqlSetup,
                                                    &kAqlSegments,
                                                    &kAqlSignal,
                                                    &kAqlVendor,
                                                    &kAqlPacketReused,
                                                    &kNarrowWait,
                                                    &kAqlQueueChanged,
                                                    &kArgumentAlignment,
                                                    &kArgumentMapped,
                                                    &kArgumentChanged,
                                                    &kBeyondRegisters,
                                                    &kBeyondLds,
                                                    &kBeyondScratch,
                                                    &kAtomicAlignment,
                                                    &kBarrierDeadlock,
                                                    &kUndefinedAddress,
                                                    &kUndefinedBranch,
                                                    &kUndefinedLanes,
                                                    &kUndefinedOperand,
                                                    &kUndefinedResult,
                                                    &kStaleVector,
                                                    &kStaleGl1,
                                                    &kStaleScalar,
                                                    &kStaleInstructions,
                                                    &kStaleL2,
                                                    &kDirtyL2,
                                                    &kUnconfirmed,
};
// clang-format on

}  // namespace

std::span<const Check* const> all_checks() {
  static const std::vector<const Check*>& all = *new std::vector<const Check*>([] {
    std::vector<const Check*> list(kKfdChecks.begin(), kKfdChecks.end());
    list.insert(list.end(), std::begin(kCommandProcessorChecks), std::end(kCommandProcessorChecks));
    return list;
  }());
  return all;
}

}  // namespace doorbell::emu::amdgpu
