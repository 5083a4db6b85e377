// Streams of packets, PM4, SDMA or AQL, as packets with names and fields, as text or JSON: one
// reader for a driver's debug output, the emulator's trace and `doorbell decode`. Total: any words
// are some packets, what is not understood is said so with its words. Whether a packet is allowed
// is for the emulator's checks.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "base/bits/packet.h"
#include "drivers/amd/hw/generation.h"

namespace doorbell::amd::hw {

enum class StreamKind : u8 { Pm4, Sdma, Aql };

// The packet that begins at words[at]. It is the last one when what it needs is not there.
StreamPacket read_packet(StreamKind kind, Generation generation, std::span<const u32> words,
                         usize at = 0);

// Calls visit with every packet in order, see walk_packets().
void walk_stream(StreamKind kind, Generation generation, std::span<const u32> words,
                 const ReadWords& memory,
                 const std::function<void(const StreamPacket&, int depth)>& visit);

// All of it: a packet in a line, indented by depth.
std::string stream_text(StreamKind kind, Generation generation, std::span<const u32> words,
                        const ReadWords& memory = {});

}  // namespace doorbell::amd::hw
