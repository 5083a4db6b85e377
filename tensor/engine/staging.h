// Staging: memory through which bytes go from one device to another that does not see its memory.
// The source's copy queue fills a piece, the destination's empties it, and signals order the two,
// so that the host waits for nothing. Recording the copies is queue_graph.cc's.
#pragma once

#include <array>

#include "core/device/buffer.h"
#include "hcq/device.h"

namespace doorbell::engine {

struct Staging {
  // While one piece is emptied, others are filled.
  static constexpr i64 kPieces = 4, kPieceBytes = i64{2} << 20;

  hcq::Device *from, *to;
  core::Ref<core::Buffer> memory;
  hcq::GpuAddr seen_by_from, seen_by_to;

  static i64 pieces_of(i64 bytes) { return (bytes + kPieceBytes - 1) / kPieceBytes; }
};

// The process's for these devices; null where there is no memory that both see, or one cannot wait
// for the other. Shared by all graphs that copy between the two: each lets both copy queues end
// together, so that the next begins when the memory is free again.
//
// Thread safety: may be called from any thread.
const Staging* staging_between(hcq::Device& from, hcq::Device& to);

}  // namespace doorbell::engine
