// PacketFormat: what the three kinds of queues differ in as rings of packets, a row for each.
// What the packets say is for pm4_commands.h, aql_commands.h and sdma_commands.h.
#pragma once

#include "drivers/amd/hw/stream/stream.h"
#include "drivers/amd/kernel/kfd_queue.h"

namespace doorbell::amd {

struct PacketFormat {
  std::string_view name;  // as the vendor calls the packets
  hw::StreamKind stream;  // how they are read
  u64 pointer_bytes;      // what read and write pointers count
  u64 doorbell_lag;       // the doorbell is rung with the write pointer less this
  u32 filler;             // a word that the queue skips
  bool may_wrap;          // a submission may go on at the ring's start
  bool has_waves;         // kernels run on it
  u64 ring_bytes;         // a power of two
  i64 argument_bytes;     // of the ring for what packets refer to

  u64 pointer_of(u64 words) const { return words * sizeof(u32) / pointer_bytes; }
  u64 words_of(u64 pointer) const { return pointer * pointer_bytes / sizeof(u32); }
};

const PacketFormat& format_of(QueueType type);

}  // namespace doorbell::amd
