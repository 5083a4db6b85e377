// Making channels, ringing them, and what ended one.
#include "drivers/nv/kernel/nvk_channel.h"

#include <fmt/format.h>

#include <cstring>

#include "drivers/nv/hw/host/user_control.h"

namespace doorbell::nv {
namespace {

constexpr u64 kUserdOffset = NvkChannel::kEntries * u64{8};
// [tinygrad ops_nv.py NVKIface.setup_gpfifo_vm()]
constexpr u64 kResourceBytes = u64{64} << 20, kResourceAlignment = u64{2} << 20;
constexpr u32 kMostSms = 100;  // of one answer. [NV83DE_CTRL_DEBUG_MAX_SMS_PER_CALL]

}  // namespace

Result<std::unique_ptr<ChannelGroup>> ChannelGroup::make(NvkGpu& gpu) {
  RmClient& client = gpu.nvk().client();
  std::unique_ptr<ChannelGroup> group(new ChannelGroup(gpu));
  TRY(group->group_,
      make_object(client, gpu.device(), hw::ChannelGroupParameters::kClass,
                  hw::ChannelGroupParameters{.engine_type = hw::ChannelGroupParameters::kGraphics},
                  "a channel group"));
  TRY(group->share_, make_object(client, group->handle(), hw::ContextShareParameters::kClass,
                                 hw::ContextShareParameters{
                                     .va_space = gpu.va_space(),
                                     .flags = hw::ContextShareParameters::kAsync,
                                 },
                                 "a context share"));
  return group;
}

Result<void> ChannelGroup::schedule() {
  hw::GpfifoSchedule schedule{.enable = true};
  return gpu_.nvk().client().control(handle(), schedule);
}

Result<std::unique_ptr<NvkChannel>> NvkChannel::make(ChannelGroup& group, hw::ClassId engine,
                                                     std::string what) {
  std::unique_ptr<NvkChannel> channel(new NvkChannel(group, engine, std::move(what)));
  TRY(channel->make_memory());
  TRY(channel->make_objects());
  TRY(channel->join_uvm());
  return channel;
}

Result<void> NvkChannel::make_memory() {
  MemoryRequest ring;
  ring.bytes = kUserdOffset + hw::kUserdBytes;
  ring.kind = MemoryKind::VisibleVideo;
  ring.low = true;
  ring.what = fmt::format("the ring of the {} channel", what_);
  TRY(ring_, group_.gpu().allocate(ring));
  std::memset(ring_->host(), 0, ring.bytes);
  MemoryRequest notifier;
  notifier.bytes = hw::kChannelNotifications * sizeof(hw::Notification);
  notifier.kind = MemoryKind::Notifier;
  notifier.low = true;
  notifier.what = fmt::format("the error notifier of the {} channel", what_);
  TRY(notifier_, group_.gpu().allocate(notifier));
  std::memset(notifier_->host(), 0, notifier.bytes);
  return {};
}

Result<void> NvkChannel::make_objects() {
  const NvkGpu& gpu = group_.gpu();
  RmClient& client = gpu.nvk().client();
  hw::ChannelParameters parameters{
      .object_error = notifier_->handle(),
      .object_buffer = ring_->handle(),
      .gp_fifo_offset = ring_->address(),
      .gp_fifo_entries = kEntries,
      .context_share = group_.context_share(),
  };
  parameters.userd_memory[0] = ring_->handle();
  parameters.userd_offset[0] = kUserdOffset;
  TRY(channel_, make_object(client, group_.handle(), static_cast<u32>(gpu.classes().channel),
                            parameters, fmt::format("the {} channel", what_)));
  TRY(engine_, make_object(client, handle(), static_cast<u32>(engine_class_),
                           std::string(name_of(engine_class_))));
  if (kind_of(engine_class_) == hw::ClassKind::Compute) {
    TRY(copier_, make_object(client, handle(), static_cast<u32>(gpu.classes().copy),
                             std::string(name_of(gpu.classes().copy))));
    // Sandboxes refuse it; then faults are told by the notifier alone.
    Result<RmObject> debugger = make_object(
        client, gpu.device(), hw::DebuggerParameters::kClass,
        hw::DebuggerParameters{.app_client = client.handle(), .class3d_object = engine_.handle()},
        "a debugger");
    if (debugger) debugger_ = std::move(*debugger);
  }
  hw::GetWorkSubmitToken token;
  TRY(client.control(handle(), token));
  token_ = token.work_submit_token;
  return {};
}

// UVM maps what RM keeps in memory for the channel.
Result<void> NvkChannel::join_uvm() {
  NvkGpu& gpu = group_.gpu();
  Nvk& nvk = gpu.nvk();
  TRY(resources_, nvk.reserve(kResourceBytes, kResourceAlignment, true));
  hw::UvmRegisterChannel join{.gpu_uuid = gpu.uuid(),
                              .rm_ctrl_fd = nvk.client().descriptor(),
                              .client = nvk.client().handle(),
                              .channel = handle(),
                              .base = resources_,
                              .length = kResourceBytes};
  TRY(nvk.uvm().call(join));
  is_registered_ = true;
  return {};
}

NvkChannel::~NvkChannel() {
  NvkGpu& gpu = group_.gpu();
  Nvk& nvk = gpu.nvk();
  if (is_registered_) {
    hw::UvmUnregisterChannel leave{
        .gpu_uuid = gpu.uuid(), .client = nvk.client().handle(), .channel = handle()};
    (void)nvk.uvm().call(leave);
  }
  debugger_ = RmObject();
  copier_ = RmObject();
  engine_ = RmObject();
  channel_ = RmObject();
  if (resources_ != 0) nvk.unreserve(resources_);
}

void NvkChannel::announce(u32 put) {
  // Entries before the register that makes them valid, and that before the doorbell: both are
  // write-combined.
  os::fence_writes();
  auto* const userd = reinterpret_cast<volatile u32*>(ring_->host() + kUserdOffset);
  userd[hw::kUserdGpPut / 4] = put;
  os::fence_writes();
  group_.gpu().doorbells().write32(hw::kDoorbell, token_);
}

std::optional<hw::Notification> NvkChannel::error() const {
  const volatile u8* at = notifier_->host() + hw::kErrorNotification * sizeof(hw::Notification);
  // RM writes the status last.
  const u16 status =
      *reinterpret_cast<const volatile u16*>(at + offsetof(hw::Notification, status));
  if (status == 0) return std::nullopt;
  std::atomic_thread_fence(std::memory_order_acquire);
  hw::Notification notification;
  std::memcpy(&notification, const_cast<const u8*>(at), sizeof notification);
  return notification;
}

std::optional<u64> NvkChannel::fault_address() const {
  if (debugger_.handle() == 0) return std::nullopt;
  hw::ReadMmuFaults faults;
  if (!group_.gpu().nvk().client().control(debugger_.handle(), faults) || faults.count == 0)
    return std::nullopt;
  return faults.faults[0].fault_address;
}

std::string NvkChannel::faults() const {
  if (debugger_.handle() == 0) return {};
  RmClient& client = group_.gpu().nvk().client();
  std::string text;
  const auto add = [&](const std::string& one) { text += (text.empty() ? "" : ", ") + one; };
  hw::ReadMmuFaults faults;
  if (client.control(debugger_.handle(), faults))
    for (u32 i = 0; i < std::min<u32>(faults.count, static_cast<u32>(faults.faults.size())); ++i) {
      const hw::MmuFault& one = faults.faults[i];
      add(fmt::format("MMU fault of a {} at {:#x} ({}), {}", hw::mmu_access_name(one.access_type),
                      one.fault_address, hw::mmu_fault_name(one.fault_type),
                      group_.gpu().nvk().address_map().describe(one.fault_address)));
    }
  hw::ReadSmErrorStates states{.target_channel = handle(), .num_sms = kMostSms};
  states.num_sms = std::min(kMostSms, group_.gpu().shape().sms());
  if (client.control(debugger_.handle(), states))
    for (u32 i = 0; i < states.num_sms; ++i) {
      const hw::SmErrorState& sm = states.states[i];
      if (sm.global_esr == 0 && sm.warp_esr == 0) continue;
      add(fmt::format("SM {} stopped at {:#x} (global ESR {:#x}, warp ESR {:#x})", i,
                      sm.warp_esr_pc64, sm.global_esr, sm.warp_esr));
    }
  return text;
}

}  // namespace doorbell::nv
