// One command, submitted and waited for.
#include "hcq/memory/device_copy.h"

#include "base/util/try.h"

namespace doorbell::hcq {

Result<void> copy_on_device(Device& device, GpuAddr to, GpuAddr from, u64 bytes) {
  Queue& queue = device.copy_queue();
  const std::unique_ptr<CommandBuffer> commands = queue.make_commands();
  commands->copy(to, from, bytes);
  TRY(const Point point, queue.submit(*commands, device.fence()));
  return queue.wait(point.position);
}

}  // namespace doorbell::hcq
