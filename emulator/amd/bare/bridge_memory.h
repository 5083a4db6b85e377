// BridgeMemory: the memory of an emulated bridge from USB that its GPU reaches: the buffer, a page
// that the chip sees too, and the word that lets the buffer's bytes leave. It follows what came,
// what the GPU read and wrote. See usb_bridge.h for transfers.
//
// Thread safety: from any thread.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "drivers/amd/hw/usb/asm2464.h"
#include "emulator/amd/bare/bus_memory.h"
#include "emulator/amd/cp/memory_observer.h"
#include "emulator/core/backing.h"
#include "emulator/core/checks.h"

namespace doorbell::emu::amdgpu {

class BridgeMemory final : public MemoryObserver {
 public:
  using Request = amd::hw::BufferRequest;

  // Borrowed.
  static Result<std::unique_ptr<BridgeMemory>> make(Checks& checks);
  // Where the GPU reaches it.
  BusMemory& bus() { return bus_; }
  // The chip's page.
  std::span<u8> page() { return {memory_->at(amd::hw::kBridgeBufferBytes), BusMemory::kPage}; }

  // The host says what the next bulk transfers move. False: there is no such place.
  bool arm(const Request& request);
  // What the next transfer in the direction moves; empty: nothing.
  std::optional<Request> armed(bool leaves) const;
  // Its bytes come.
  void arrive(std::span<const u8> bytes);
  // Whether the GPU has let the bytes leave since they were asked for.
  bool may_leave() const;
  void leave(std::span<u8> bytes);
  // Power comes: nothing is armed, and what lies there is anything.
  void power_on();

  void read(const u8* at, u64 bytes, bool is_poll) override;
  void written(const u8* at, u64 bytes) override;

 private:
  static constexpr u32 kSectors = amd::hw::kBridgeBufferBytes / amd::hw::kBridgeSectorBytes;
  enum class Sector : u8 { Anything, Coming, Zero, There, Taken };

  explicit BridgeMemory(Checks& checks) : checks_(checks) {}
  // Sectors of the bytes; empty: they lie elsewhere.
  std::span<Sector> sectors_at(const u8* at, u64 bytes);
  std::span<Sector> sectors_of(const Request& request);
  u8* bytes_of(const Request& request) const;

  Checks& checks_;
  BusMemory bus_;
  std::unique_ptr<Backing> memory_;  // the buffer, the page, that of the word
  mutable std::mutex mutex_;         // guards what follows
  std::array<Sector, kSectors> sectors_{};
  std::deque<Request> coming_;
  std::optional<Request> leaving_;
  bool may_leave_ = false;
};

}  // namespace doorbell::emu::amdgpu
