// The row of each kind of packet.
#include "drivers/amd/packet_format.h"

#include <array>

#include "drivers/amd/hw/aql.h"
#include "drivers/amd/hw/pm4/flow.h"

namespace doorbell::amd {
namespace {

constexpr u64 kRingBytes = u64{1} << 20;

// PM4 counts words, AQL packets, SDMA bytes. An AQL queue is rung with the number of its last
// packet. A copy engine's packets must not go round the ring's end, and zeros are its NOPs; PM4
// packets could, but then could not be written in place. Copies have no arguments.
constexpr PacketFormat kPm4{.name = "PM4",
                            .stream = hw::StreamKind::Pm4,
                            .pointer_bytes = sizeof(u32),
                            .doorbell_lag = 0,
                            .filler = encode(hw::Nop{})[0],
                            .may_wrap = false,
                            .has_waves = true,
                            .ring_bytes = kRingBytes,
                            .argument_bytes = i64{4} << 20};
constexpr PacketFormat kAql{.name = "AQL",
                            .stream = hw::StreamKind::Aql,
                            .pointer_bytes = hw::kAqlPacketBytes,
                            .doorbell_lag = 1,
                            .filler = 0,
                            .may_wrap = true,
                            .has_waves = true,
                            .ring_bytes = kRingBytes,
                            .argument_bytes = i64{8} << 20};
constexpr PacketFormat kSdma{.name = "SDMA",
                             .stream = hw::StreamKind::Sdma,
                             .pointer_bytes = 1,
                             .doorbell_lag = 0,
                             .filler = 0,
                             .may_wrap = false,
                             .has_waves = false,
                             .ring_bytes = kRingBytes,
                             .argument_bytes = 4096};

constexpr std::array kFormats{&kPm4, &kAql, &kSdma};  // by QueueType

}  // namespace

const PacketFormat& format_of(QueueType type) { return *kFormats[static_cast<usize>(type)]; }

}  // namespace doorbell::amd
