// Moves bytes piece by piece, with pieces in flight in both directions.
#include "hcq/memory/staging_ring.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/util/check.h"
#include "base/util/progress.h"
#include "base/util/try.h"

namespace doorbell::hcq {
namespace {

constexpr u64 kPieces = 4, kAlignment = 256;

}  // namespace

Result<std::unique_ptr<StagingRing>> StagingRing::make(Queue& queue, i64 bytes,
                                                       os::HostAccesses* accesses) {
  CHECK(bytes > 0 && static_cast<u64>(bytes) % (kPieces * kAlignment) == 0, "staging of {} bytes",
        bytes);
  TRY(std::unique_ptr<ArgumentRing> ring, ArgumentRing::make(queue, bytes));
  return std::unique_ptr<StagingRing>(new StagingRing(queue, std::move(ring), accesses));
}

Result<Point> StagingRing::submit_copy(GpuAddr to, GpuAddr from, u64 bytes, const Fence& after) {
  commands_->clear();
  commands_->copy(to, from, bytes);
  return queue_.submit(*commands_, after);
}

Result<Point> StagingRing::copy_in(GpuAddr to, const void* from, u64 bytes, const Fence& after) {
  std::lock_guard lock(mutex_);
  const u64 piece = ring_->size() / kPieces;
  Point last = queue_.last();
  LongWork work("copying to the device", static_cast<i64>(bytes), Progress::Unit::Bytes);
  for (u64 done = 0; done < bytes; done += piece) {
    const u64 now = std::min(piece, bytes - done);
    TRY(const ArgumentRing::Location location, ring_->allocate(now, kAlignment));
    if (accesses_ != nullptr) TRY(accesses_->access(location.host, now, true));
    std::memcpy(location.host, static_cast<const u8*>(from) + done, now);
    // Later pieces follow the first on the queue.
    Result<Point> point =
        submit_copy(to + done, location.address, now, done == 0 ? after : Fence());
    ring_->retire(queue_.last().position);
    TRY(last, std::move(point));
    work.advance(static_cast<i64>(now));
  }
  return last;
}

Result<void> StagingRing::copy_out(void* to, GpuAddr from, u64 bytes, const Fence& after) {
  std::lock_guard lock(mutex_);
  // All of the ring at once: a piece is free when the host has read it, not when the device wrote.
  TRY(const ArgumentRing::Location whole, ring_->allocate(ring_->size(), kAlignment));
  Result<void> copied = copy_out_through(whole, static_cast<u8*>(to), from, bytes, after);
  ring_->retire(queue_.last().position);
  return copied;
}

Result<void> StagingRing::copy_out_through(const ArgumentRing::Location& whole, u8* to,
                                           GpuAddr from, u64 bytes, const Fence& after) {
  const u64 piece = ring_->size() / kPieces, pieces = (bytes + piece - 1) / piece;
  std::array<Position, kPieces> positions{};
  LongWork work("copying from the device", static_cast<i64>(bytes), Progress::Unit::Bytes);
  for (u64 sent = 0, received = 0; received < pieces;) {
    if (sent < pieces && sent - received < kPieces) {
      const u64 place = sent % kPieces, offset = sent * piece;
      TRY(const Point point,
          submit_copy(whole.address + place * piece, from + offset, std::min(piece, bytes - offset),
                      sent == 0 ? after : Fence()));
      positions[place] = point.position;
      ++sent;
      continue;
    }
    const u64 place = received % kPieces, offset = received * piece;
    TRY(queue_.wait(positions[place]));
    const u64 now = std::min(piece, bytes - offset);
    if (accesses_ != nullptr) TRY(accesses_->access(whole.host + place * piece, now, false));
    std::memcpy(to + offset, whole.host + place * piece, now);
    work.advance(static_cast<i64>(now));
    ++received;
  }
  return {};
}

}  // namespace doorbell::hcq
