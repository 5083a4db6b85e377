// Channels, doorbells, whose turn it is, and faults.
#include "emulator/nv/host/gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/util/try.h"
#include "drivers/nv/hw/host/user_control.h"
#include "drivers/nv/hw/rm/notification.h"
#include "emulator/nv/rules.h"

namespace doorbell::emu::nvgpu {

namespace {

// GR's runlist. A token is the runlist and the channel's number in it.
// [okm src/nvidia/src/kernel/gpu/fifo/arch/ampere/kernel_fifo_ga100.c
// kfifoGenerateWorkSubmitTokenHal_GA100()]
constexpr u32 kRunlist = 1;

u32* userd_word(const Channel& channel, u64 offset) {
  return reinterpret_cast<u32*>(channel.userd_memory->host() + channel.userd_offset + offset);
}

}  // namespace

const Check& Gpu::kFaultOfHost = kHostFault;

Result<std::unique_ptr<Gpu>> Gpu::create(Options options) {
  std::unique_ptr<Gpu> gpu(new Gpu(std::move(options)));
  TRY(gpu->usermode_,
      Memory::allocate(Memory::Kind::Usermode, gpu->options_.index, hw::kUsermodeBytes, false));
  std::memcpy(gpu->usermode_->host() + hw::kDoorbell, &kNotRung, sizeof kNotRung);
  return gpu;
}

void Gpu::add_channel(const std::shared_ptr<Channel>& channel) {
  channel->id = next_id_++;
  channel->token = kRunlist << 16 | channel->id;
  ++channel->va_space->users;
  if (options_.races != nullptr) channel->races = std::make_unique<QueueRaces>(*options_.races);
  channels_.push_back(channel);
}

void Gpu::remove_channel(const Channel& channel) {
  const auto found = std::ranges::find_if(
      channels_, [&](const auto& candidate) { return candidate.get() == &channel; });
  if (found == channels_.end()) return;
  if (options_.polled) poll_doorbell();
  const u32 put = __atomic_load_n(userd_word(channel, hw::kUserdGpPut), __ATOMIC_ACQUIRE);
  if (put != channel.put && channel.group->scheduled && channel.group->error == 0)
    options_.checks->report(
        kHostUnrung, fmt::format("{} is freed with GP_PUT at {}; when it was rung last it was {}",
                                 name(channel), put, channel.put));
  --channel.va_space->users;
  (*found)->races.reset();
  (*found)->grids.clear();
  (*found)->copies.clear();
  channels_.erase(found);
}

void Gpu::read_put(Channel& channel, bool is_rung) {
  const u32 put = __atomic_load_n(userd_word(channel, hw::kUserdGpPut), __ATOMIC_ACQUIRE);
  if (put == channel.put) {
    if (is_rung && !options_.polled)
      breaks(channel, ChannelError::Pbdma, kHostPut,
             fmt::format("{} was rung, but GP_PUT still is {}", name(channel), put));
    return;
  }
  if (put >= channel.entries) {
    breaks(channel, ChannelError::Pbdma, kHostPut,
           fmt::format("GP_PUT of {} is {}, its ring has {} entries", name(channel), put,
                       channel.entries));
    return;
  }
  channel.announced += (put + channel.entries - channel.put) % channel.entries;
  channel.put = put;
  if (channel.races) channel.races->rung(channel.announced);
}

void Gpu::ring(u32 token) {
  const FetchHook::Verdict verdict = show({Fetched::Kind::Doorbell}, {&token, 1});
  if (verdict == FetchHook::Verdict::Skip) return;
  const auto found =
      std::ranges::find_if(channels_, [&](const auto& channel) { return channel->token == token; });
  if (found == channels_.end()) {
    options_.checks->report(
        kHostToken, fmt::format("GPU {}: no channel has the token {:#x}", options_.index, token));
    return;
  }
  Channel& channel = **found;
  write_trace(channel, "packet", fmt::format("DOORBELL token={:#x}", token));
  if (!channel.group->scheduled &&
      breaks(channel, ChannelError::Pbdma, kHostToken,
             fmt::format("{} was rung before GPFIFO_SCHEDULE enabled it", name(channel))))
    return;
  read_put(channel, true);
  if (verdict == FetchHook::Verdict::Again) ring(token);
}

void Gpu::poll_doorbell() {
  u32* word = reinterpret_cast<u32*>(usermode_->host() + hw::kDoorbell);
  if (__atomic_load_n(word, __ATOMIC_ACQUIRE) == kNotRung) return;
  const u32 token = __atomic_exchange_n(word, kNotRung, __ATOMIC_ACQ_REL);
  ring(token);
  // Another token may have been overwritten before it was seen.
  for (const auto& channel : channels_) {
    if (channel->token == token || channel->group->error != 0) continue;
    const u32 before = channel->put;
    read_put(*channel, false);
    if (channel->put != before)
      write_trace(
          *channel, "packet",
          fmt::format("DOORBELL assumed: its token was not seen, GP_PUT is {}", channel->put));
  }
}

bool Gpu::step() {
  if (channels_.empty()) return false;
  const usize count = channels_.size();
  const usize first = options_.adversarial ? random_() % count : turn_;
  for (usize i = 0; i < count; ++i) {
    const std::shared_ptr<Channel> channel = channels_[(first + i) % count];
    if (!step(*channel)) continue;
    turn_ = (first + i) % count;
    return true;
  }
  turn_ = 0;
  return false;
}

bool Gpu::step(Channel& channel) {
  if (channel.group->error != 0 || !channel.group->scheduled) return false;
  constexpr u32 kLate = 8;  // a grid or a copy that may wait goes on so seldom
  if (!channel.grids.empty() && random_() % kLate == 0) {
    run_grid(channel);
  } else if (!channel.copies.empty() && random_() % kLate == 0) {
    run_copy(channel);
  } else if (channel.waits && is_acquired(channel)) {
    channel.waits = false;
  } else if (channel.waits && channel.grids.empty() && channel.copies.empty()) {
    return channel.group->error != 0;
  } else if (channel.waits) {
    run_late(channel);
  } else if (channel.data > 0) {
    run_data(channel);
  } else if (channel.words > 0) {
    read_header(channel);
  } else if (channel.get != channel.put) {
    fetch_entry(channel);
    __atomic_store_n(userd_word(channel, hw::kUserdGpGet), channel.get, __ATOMIC_RELEASE);
  } else if (!channel.grids.empty() || !channel.copies.empty()) {
    run_late(channel);
  } else {
    return false;
  }
  return true;
}

std::string Gpu::waits() const {
  std::string text;
  for (const auto& channel : channels_) {
    if (!channel->waits || channel->group->error != 0) continue;
    const u8* now = channel->space().at(channel->acquire.addr, 4, false);
    text += fmt::format("{}{} waits for [{:#x}] {} {:#x}, it is {:#x}", text.empty() ? "" : "; ",
                        name(*channel), channel->acquire.addr,
                        hw::name_of(channel->acquire.operation), channel->acquire.payload,
                        now == nullptr ? 0 : *reinterpret_cast<const u32*>(now));
  }
  return text;
}

// ---- faults -------------------------------------------------------------------------------------

std::string Gpu::name(const Channel& channel) const {
  return fmt::format("GPU {}, channel {}", options_.index, channel.id);
}

void Gpu::write_trace(const Channel& channel, std::string_view kind, std::string_view text) {
  if (!options_.trace->enabled()) return;
  options_.trace->write({.kind = kind,
                         .gpu = static_cast<int>(options_.index),
                         .queue = static_cast<int>(channel.id),
                         .text = text});
}

u8* Gpu::at(Channel& channel, u64 address, u64 bytes, bool write, std::string_view what,
            const Check& check) {
  u8* host = channel.space().at(address, bytes, write);
  if (host != nullptr) return host;
  channel.fault = {.is_mmu = true, .is_write = write, .address = address};
  stop(channel, ChannelError::MmuFault, check,
       fmt::format("{}: {} at {:#x} ({} of {} bytes): {}", name(channel), what, address,
                   write ? "write" : "read", bytes, channel.space().describe(address)));
  return nullptr;
}

void Gpu::stop(Channel& channel, ChannelError error, const Check& check,
               const std::string& message) {
  options_.checks->report(check, message);
  stop_reported(channel, error, message);
}

// The error stops all channels of the group. [okm src/nvidia/src/kernel/gpu/rc/kernel_rc.c]
void Gpu::stop_reported(Channel& channel, ChannelError error, const std::string& message) {
  channel.fault.message = last_fault_ = message;
  channel.group->error = static_cast<u32>(error);
  write_trace(channel, "fault", message);
  for (const auto& member : channels_) {
    if (member->group != channel.group || !member->notifier) continue;
    auto* written = reinterpret_cast<hw::Notification*>(member->notifier->host());
    constexpr u16 kHappened = 0xffff;
    const u64 now_ns = options_.now_ns();
    written->time_upper = static_cast<u32>(now_ns >> 32);
    written->time_lower = static_cast<u32>(now_ns);
    written->info32 = static_cast<u32>(error);
    __atomic_store_n(&written->status, kHappened, __ATOMIC_RELEASE);
  }
}

bool Gpu::breaks(Channel& channel, ChannelError error, const Check& check,
                 const std::string& message) {
  if (options_.checks->report(check, message) != Level::Error) return false;
  stop_reported(channel, error, message);
  return true;
}

}  // namespace doorbell::emu::nvgpu
