// Submissions as text, packet by packet, for DEBUG=7: printed by hw/stream, as the emulator's trace
// and `doorbell decode` are.
#pragma once

#include <span>
#include <string>

#include "drivers/amd/hw/generation.h"
#include "drivers/amd/hw/stream/stream.h"
#include "hcq/queue/queue.h"

namespace doorbell::amd {

// `words` are what goes into the ring; jumps into bound words of the segments are followed.
std::string packets_text(hw::StreamKind kind, hw::Generation generation, std::span<const u32> words,
                         std::span<const hcq::Segment> segments);

}  // namespace doorbell::amd
