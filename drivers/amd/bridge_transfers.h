// BridgeTransfers: bytes between the host and a GPU behind USB through the bridge's buffer, a half
// of it at a time: while the copy engine moves one half, the other goes over USB.
//
//   in    the host fills a half, whose last word is a mark; the engine waits for the mark, copies
//         the bytes before it, and counts in a word that the host reads before it fills that half
//         again. Nothing else says that bytes have arrived.
//   out   the engine copies into a half; the host asks for the bytes, and says go; the engine lets
//         them leave, and copies the next ones into the other half meanwhile.
//
// [tinygrad a9069c177a, tinygrad/runtime/ops_amd.py AMDAllocator._copyin(), which does the first
// so, and _copyout(), one half after the other; that a half is filled by the engine before it is
// asked for: tinygrad/asm2464pd-firmware c5e2090f97a8, pcie/test_sram_verify.py. That the engine
// waits for a word which the chip writes is in neither.]
//
// Thread safety: from any thread; transfers go one after another.
#pragma once

#include <array>
#include <mutex>
#include <vector>

#include "drivers/amd/kernel/usb/bridge_buffer.h"
#include "hcq/memory/host_transfers.h"
#include "hcq/queue/queue.h"

namespace doorbell::amd {

class BridgeTransfers final : public hcq::HostTransfers {
 public:
  // Both are borrowed; `copy_queue` is of a copy engine.
  BridgeTransfers(hcq::Queue& copy_queue, const BridgeBuffer& buffer, os::Clock& clock,
                  u64 timeout_ns)
      : queue_(copy_queue), buffer_(buffer), clock_(clock), timeout_ns_(timeout_ns) {}
  ~BridgeTransfers() override;

  // Fewer are written and read faster word by word.
  bool takes(u64 bytes) const override { return bytes >= kLeastBytes; }
  Result<void> copy_in(hcq::GpuAddr to, const u8* from, u64 bytes,
                       const hcq::Fence& after) override;
  Result<void> copy_out(u8* to, hcq::GpuAddr from, u64 bytes, const hcq::Fence& after) override;

 private:
  static constexpr u64 kLeastBytes = 16 << 10;
  static constexpr u64 kHalf = hw::kBridgeBufferBytes / 2, kMarkBytes = sizeof(u32);
  // Of one submission: 16 MiB, whose packets are a fraction of the ring.
  static constexpr u64 kPieces = 64;
  struct Half {
    std::vector<u8> bytes;  // what the buffer holds there, as far as the host knows
    u64 transfer = 0;       // the last
  };
  // A transfer over USB is of whole sectors.
  static u64 transfer_bytes(u64 bytes) {
    constexpr u64 kSector = hw::kBridgeSectorBytes;
    return (bytes + kSector - 1) / kSector * kSector;
  }
  Result<void> prepare();
  Result<hcq::Point> submit_in(hcq::GpuAddr to, std::span<const u8> bytes);
  Result<void> send(u32 mark, std::span<const u8> payload);
  Result<void> await_count(u64 count);
  Result<hcq::Point> submit_out(hcq::GpuAddr from, u64 bytes);
  u64 data_of(u64 half) const { return buffer_.data + half * kHalf; }

  hcq::Queue& queue_;
  const BridgeBuffer buffer_;
  os::Clock& clock_;
  const u64 timeout_ns_;
  std::mutex mutex_;  // guards what follows
  std::array<Half, 2> halves_;
  std::vector<u32> marks_;  // of the pieces of a submission
  u64 count_ = 0;           // pieces that were ever sent in
  u64 seen_ = 0;            // of them, those that the engine has copied, as far as the host knows
  u8 go_ = 0;               // the last
};

}  // namespace doorbell::amd
