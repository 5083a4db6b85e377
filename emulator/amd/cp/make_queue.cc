// Which processor reads which queue (make_queue.h).
#include "emulator/amd/cp/make_queue.h"

#include "base/util/check.h"
#include "emulator/amd/cp/aql_queue.h"
#include "emulator/amd/cp/pm4_queue.h"
#include "emulator/amd/cp/sdma_queue.h"

namespace doorbell::emu::amdgpu {

std::unique_ptr<Queue> make_queue(QueueId id, const QueueDescription& description,
                                  GpuContext& gpu) {
  switch (description.kind) {
    case QueueKind::Pm4: return std::make_unique<Pm4Queue>(id, description, gpu);
    case QueueKind::Aql: return std::make_unique<AqlQueue>(id, description, gpu);
    case QueueKind::Sdma: return std::make_unique<SdmaQueue>(id, description, gpu);
  }
  UNREACHABLE("queue kind {}", static_cast<unsigned>(description.kind));
}

}  // namespace doorbell::emu::amdgpu
