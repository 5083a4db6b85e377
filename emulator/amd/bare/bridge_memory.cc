// [the sources of drivers/amd/hw/usb/asm2464.h. That a request comes while bytes of the one before
// still do: tinygrad ops_amd.py AMDAllocator._copyin(); of bytes that leave nobody does that]
#include "emulator/amd/bare/bridge_memory.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/util/try.h"
#include "emulator/amd/bare/bare_checks.h"

namespace doorbell::emu::amdgpu {
namespace {

namespace hw = amd::hw;

constexpr u64 kPage = hw::kBridgeBufferBytes, kCompletion = kPage + BusMemory::kPage;
constexpr u8 kNoise = 0xa5;

}  // namespace

Result<std::unique_ptr<BridgeMemory>> BridgeMemory::make(Checks& checks) {
  std::unique_ptr<BridgeMemory> memory(new BridgeMemory(checks));
  TRY(memory->memory_, Backing::create(kCompletion + BusMemory::kPage));
  memory->bus_.pin_at(hw::kBridgeBuffer, memory->memory_->at(0), hw::kBridgeBufferBytes);
  memory->bus_.pin_at(hw::kBridgePage, memory->memory_->at(kPage), BusMemory::kPage);
  memory->bus_.pin_at(hw::kBridgeCompletion, memory->memory_->at(kCompletion), BusMemory::kPage);
  memory->power_on();
  return memory;
}

void BridgeMemory::power_on() {
  std::lock_guard lock(mutex_);
  std::memset(memory_->at(0), kNoise, kCompletion + BusMemory::kPage);
  sectors_.fill(Sector::Anything);
  coming_.clear();
  leaving_.reset();
}

u8* BridgeMemory::bytes_of(const Request& request) const {
  return memory_->at(u64{request.slot} * hw::kBridgeSlotBytes);
}

std::span<BridgeMemory::Sector> BridgeMemory::sectors_of(const Request& request) {
  return sectors_at(bytes_of(request), u64{request.sectors} * hw::kBridgeSectorBytes);
}

std::span<BridgeMemory::Sector> BridgeMemory::sectors_at(const u8* at, u64 bytes) {
  const u8* const first = memory_->at(0);
  if (at < first || at >= first + hw::kBridgeBufferBytes || bytes == 0) return {};
  const u64 offset = static_cast<u64>(at - first);
  const u64 begin = offset / hw::kBridgeSectorBytes;
  const u64 end = std::min<u64>((offset + bytes - 1) / hw::kBridgeSectorBytes + 1, kSectors);
  return std::span(sectors_).subspan(begin, end - begin);
}

bool BridgeMemory::arm(const Request& request) {
  std::lock_guard lock(mutex_);
  const u64 end = (u64{request.slot} + std::max<u32>(request.slots, 1)) * hw::kBridgeSlotBytes;
  const u64 bytes = u64{request.sectors} * hw::kBridgeSectorBytes;
  if (bytes == 0 || end > hw::kBridgeBufferBytes ||
      u64{request.slot} * hw::kBridgeSlotBytes + bytes > end)
    return false;
  if (request.leaves ? leaving_.has_value() || !coming_.empty() : leaving_.has_value())
    checks_.report(kUsbBuffer,
                   "bytes are asked for before those of the request before have left, "
                   "or come");
  if (request.leaves) {
    leaving_ = request;
    may_leave_ = false;
    return true;
  }
  for (Sector& sector : sectors_of(request)) {
    if (sector == Sector::There || sector == Sector::Coming) {
      checks_.report(kUsbOverwrite, fmt::format("{} sectors from slot {} on, of what came before",
                                                request.sectors, request.slot));
      break;
    }
  }
  std::ranges::fill(sectors_of(request), Sector::Coming);
  coming_.push_back(request);
  return true;
}

std::optional<BridgeMemory::Request> BridgeMemory::armed(bool leaves) const {
  std::lock_guard lock(mutex_);
  if (leaves) return leaving_;
  return coming_.empty() ? std::nullopt : std::optional(coming_.front());
}

// Word by word, as they come: the last word is there when all are.
void BridgeMemory::arrive(std::span<const u8> bytes) {
  std::lock_guard lock(mutex_);
  const Request request = coming_.front();
  coming_.pop_front();
  const bool is_zero = std::ranges::all_of(bytes, [](u8 byte) { return byte == 0; });
  std::ranges::fill(sectors_of(request), is_zero ? Sector::Zero : Sector::There);
  u8* const to = bytes_of(request);
  for (usize i = 0; i + sizeof(u32) <= bytes.size(); i += sizeof(u32)) {
    u32 word = 0;
    std::memcpy(&word, bytes.data() + i, sizeof word);
    __atomic_store_n(reinterpret_cast<u32*>(to + i), word, __ATOMIC_RELEASE);
  }
}

bool BridgeMemory::may_leave() const {
  std::lock_guard lock(mutex_);
  return leaving_.has_value() && may_leave_;
}

void BridgeMemory::leave(std::span<u8> bytes) {
  std::lock_guard lock(mutex_);
  std::memcpy(bytes.data(), bytes_of(*leaving_), bytes.size());
  leaving_.reset();
}

void BridgeMemory::read(const u8* at, u64 bytes, bool is_poll) {
  std::lock_guard lock(mutex_);
  for (Sector& sector : sectors_at(at, bytes)) {
    if (sector == Sector::There) {
      sector = Sector::Taken;
    } else if (!is_poll && (sector == Sector::Coming || sector == Sector::Anything)) {
      checks_.report(kUsbEarly,
                     fmt::format("{} bytes at {:#x} of the buffer", bytes, at - memory_->at(0)));
      return;
    }
  }
}

void BridgeMemory::written(const u8* at, u64 bytes) {
  std::lock_guard lock(mutex_);
  for (Sector& sector : sectors_at(at, bytes)) {
    if (sector == Sector::Coming || sector == Sector::There)
      checks_.report(kUsbOverwrite, fmt::format("the GPU writes {} bytes at {:#x} of the buffer",
                                                bytes, at - memory_->at(0)));
    sector = Sector::Taken;
  }
  const u8* const word = memory_->at(kCompletion + hw::kBridgeCompletionWord);
  if (at <= word && at + bytes > word) may_leave_ = true;
}

}  // namespace doorbell::emu::amdgpu
