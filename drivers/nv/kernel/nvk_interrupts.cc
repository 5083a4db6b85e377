// Making the event, and waiting for it.
#include "drivers/nv/kernel/nvk_interrupts.h"

namespace doorbell::nv {

Result<std::unique_ptr<NvkInterrupts>> NvkInterrupts::make(const NvkGpu& gpu) {
  using hw::EventParameters;
  RmClient& client = gpu.nvk().client();
  std::unique_ptr<NvkInterrupts> interrupts(new NvkInterrupts(gpu));
  TRY(interrupts->file_, client.open_node(gpu.node()));
  hw::AllocOsEvent named{.client = client.handle(),
                         .device = gpu.device(),
                         .fd = static_cast<u32>(interrupts->file_->descriptor())};
  TRY(client.escape_checked(*interrupts->file_, named, "a file for interrupts"));
  EventParameters parameters;
  parameters.parent_client = client.handle();
  parameters.src_resource = gpu.subdevice();
  parameters.event_class = hw::kEventOsEvent;
  parameters.notify_index = EventParameters::kFifoEvent | EventParameters::kNonStallInterrupt |
                            EventParameters::kWithoutData;
  parameters.data = named.fd;
  TRY(interrupts->event_, make_object(client, gpu.subdevice(), hw::kEventOsEvent, parameters,
                                      "an event of interrupts"));
  return interrupts;
}

// A forked child shares the file, and would take the events of its parent.
Result<void> NvkInterrupts::wait(u64 timeout_ns) {
  TRY(gpu_.nvk().check_process());
  TRY(file_->wait_ready(timeout_ns));
  return {};
}

}  // namespace doorbell::nv
