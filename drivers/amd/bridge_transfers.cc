// Pieces, marks, and counting.
#include "drivers/amd/bridge_transfers.h"

#include <algorithm>
#include <cstring>

#include "base/util/progress.h"
#include "base/util/try.h"

namespace doorbell::amd {
namespace {

// Places in the page that both see. [tinygrad ops_amd.py AMDAllocator._copyin(), FENCE]
constexpr u16 kCount = 0x800, kGo = 0x808;
constexpr u32 kMark = 0x5100'0000, kMarkNumbers = 0xff'ffff;
constexpr u16 chip_address(u16 place) { return static_cast<u16>(hw::kBridgePageOfChip + place); }

u32 word_at(std::span<const u8> bytes, u64 at) {
  u32 word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

}  // namespace

// What is under way has memory of this.
BridgeTransfers::~BridgeTransfers() {
  for (const Half& half : halves_) (void)buffer_.bridge->finish_transfer(half.transfer);
}

// What another process left there is no mark of ours.
Result<void> BridgeTransfers::prepare() {
  if (!halves_[0].bytes.empty()) return {};
  for (u16 i = 0; i < sizeof(u64); ++i) {
    TRY(buffer_.bridge->write_chip(static_cast<u16>(chip_address(kCount) + i), 0));
    TRY(buffer_.bridge->write_chip(static_cast<u16>(chip_address(kGo) + i), 0));
  }
  for (u32 i = 0; i < halves_.size(); ++i) {
    std::vector<u8> zeros(kHalf);
    TRY(const u64 transfer,
        buffer_.bridge->fill_buffer(i * u32{kHalf / hw::kBridgeSlotBytes}, zeros));
    TRY(buffer_.bridge->finish_transfer(transfer));
    halves_[i].bytes = std::move(zeros);
  }
  return {};
}

// ---- in -----------------------------------------------------------------------------------------

Result<void> BridgeTransfers::copy_in(hcq::GpuAddr to, const u8* from, u64 bytes,
                                      const hcq::Fence& after) {
  std::lock_guard lock(mutex_);
  TRY(after.wait());
  TRY(prepare());
  constexpr u64 kPayload = kHalf - kMarkBytes;
  LongWork work("copying to the device", static_cast<i64>(bytes), Progress::Unit::Bytes);
  hcq::Point last;
  for (u64 done = 0; done < bytes;) {
    const std::span<const u8> group(from + done, std::min(bytes - done, kPieces * kPayload));
    TRY(last, submit_in(to + done, group));
    for (u64 at = 0, piece = 0; at < group.size(); at += kPayload, ++piece) {
      const std::span<const u8> payload =
          group.subspan(at, std::min<u64>(kPayload, group.size() - at));
      TRY(send(marks_[piece], payload));
      work.advance(static_cast<i64>(payload.size()));
    }
    done += group.size();
  }
  TRY(await_count(count_));
  for (const Half& half : halves_) TRY(buffer_.bridge->finish_transfer(half.transfer));
  return last.queue->wait(last.position, timeout_ns_);
}

// The engine's packets for all pieces, before they are sent.
Result<hcq::Point> BridgeTransfers::submit_in(hcq::GpuAddr to, std::span<const u8> bytes) {
  constexpr u64 kPayload = kHalf - kMarkBytes;
  const std::unique_ptr<hcq::CommandBuffer> commands = queue_.make_commands();
  marks_.clear();
  for (u64 at = 0, number = count_; at < bytes.size(); at += kPayload, ++number) {
    const u64 size = std::min<u64>(kPayload, bytes.size() - at);
    const u64 place = transfer_bytes(size + kMarkBytes) - kMarkBytes, half = number % 2;
    // What lies there until the piece comes must not be its mark.
    u32 mark = kMark | static_cast<u32>(number & kMarkNumbers);
    const u32 before = at >= 2 * kPayload && place < kPayload
                           ? word_at(bytes, at - 2 * kPayload + place)
                           : word_at(halves_[half].bytes, place);
    if (mark == before) mark ^= kMark;
    marks_.push_back(mark);
    commands->poll(hcq::GpuAddr{data_of(half) + place}, mark, 0xffff'ffff);
    commands->copy(to + at, hcq::GpuAddr{data_of(half)}, size);
    commands->memory_barrier();
    commands->write(hcq::GpuAddr{buffer_.page + kCount}, number + 1);
  }
  return queue_.submit(*commands);
}

Result<void> BridgeTransfers::send(u32 mark, std::span<const u8> payload) {
  Half& half = halves_[count_ % 2];
  TRY(buffer_.bridge->finish_transfer(half.transfer));
  // The piece before last was there.
  if (count_ >= 2) TRY(await_count(count_ - 1));
  const u64 size = transfer_bytes(payload.size() + kMarkBytes);
  std::ranges::copy(payload, half.bytes.begin());
  std::memcpy(half.bytes.data() + size - kMarkBytes, &mark, kMarkBytes);
  const u32 slot = static_cast<u32>(count_ % 2 * (kHalf / hw::kBridgeSlotBytes));
  TRY(half.transfer, buffer_.bridge->fill_buffer(slot, std::span(half.bytes).first(size)));
  ++count_;
  return {};
}

Result<void> BridgeTransfers::await_count(u64 count) {
  if (seen_ >= count) return {};
  const u64 begin_ns = clock_.now_ns();
  for (u32 turn = 0;; ++turn) {
    std::array<u8, sizeof(u64)> bytes{};
    TRY(buffer_.bridge->read_chip(chip_address(kCount), bytes));
    std::memcpy(&seen_, bytes.data(), sizeof seen_);
    if (seen_ >= count) return {};
    // The engine may be waiting for a piece that is still on its way over USB.
    for (const Half& half : halves_) TRY(buffer_.bridge->finish_transfer(half.transfer));
    if (clock_.now_ns() - begin_ns >= timeout_ns_)
      return fail(ErrorKind::Timeout,
                  "the copy engine has taken {} pieces of {} out of the buffer of {}", seen_, count,
                  buffer_.bridge->name());
    clock_.relax(turn);
  }
}

// ---- out ----------------------------------------------------------------------------------------

Result<hcq::Point> BridgeTransfers::submit_out(hcq::GpuAddr from, u64 bytes) {
  const std::unique_ptr<hcq::CommandBuffer> commands = queue_.make_commands();
  const auto copy = [&](u64 at, u64 half) {
    commands->copy(hcq::GpuAddr{data_of(half)}, from + at, std::min(kHalf, bytes - at));
    commands->memory_barrier();
  };
  copy(0, 0);
  u8 go = go_;
  for (u64 at = 0, half = 0; at < bytes; at += kHalf, half ^= 1) {
    commands->poll(hcq::GpuAddr{buffer_.page + kGo}, ++go, 0xff);
    // A word of 32 bits.
    commands->signal(hcq::GpuAddr{buffer_.completion}, u64{0});
    // The host said go when it had what was there before.
    if (at + kHalf < bytes) copy(at + kHalf, half ^ 1);
  }
  return queue_.submit(*commands);
}

Result<void> BridgeTransfers::copy_out(u8* to, hcq::GpuAddr from, u64 bytes,
                                       const hcq::Fence& after) {
  std::lock_guard lock(mutex_);
  TRY(after.wait());
  TRY(prepare());
  LongWork work("copying from the device", static_cast<i64>(bytes), Progress::Unit::Bytes);
  for (u64 done = 0; done < bytes;) {
    const u64 group = std::min(bytes - done, kPieces * kHalf);
    TRY(const hcq::Point point, submit_out(from + done, group));
    for (u64 at = 0, half = 0; at < group; at += kHalf, half ^= 1) {
      const u64 size = std::min(kHalf, group - at);
      std::vector<u8>& bytes_there = halves_[half].bytes;
      const u32 slot = static_cast<u32>(half * (kHalf / hw::kBridgeSlotBytes));
      TRY(halves_[half].transfer,
          buffer_.bridge->drain_buffer(slot, std::span(bytes_there).first(transfer_bytes(size)),
                                       chip_address(kGo), ++go_));
      TRY(buffer_.bridge->finish_transfer(halves_[half].transfer));
      std::memcpy(to + done + at, bytes_there.data(), size);
      work.advance(static_cast<i64>(size));
    }
    TRY(point.queue->wait(point.position, timeout_ns_));
    done += group;
  }
  return {};
}

}  // namespace doorbell::amd
