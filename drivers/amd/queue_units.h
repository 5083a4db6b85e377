// What the three kinds of queues count their pointers in, and how their packets are read.
#pragma once

#include "base/util/check.h"
#include "drivers/amd/hw/aql.h"
#include "drivers/amd/hw/stream/stream.h"
#include "drivers/amd/kernel/kfd_queue.h"

namespace doorbell::amd {

// PM4 counts words, AQL packets, SDMA bytes.
inline u64 in_units(QueueType type, u64 words) {
  switch (type) {
    case QueueType::Pm4: return words;
    case QueueType::Aql: return words / (hw::kAqlPacketBytes / sizeof(u32));
    case QueueType::Sdma: return words * sizeof(u32);
  }
  UNREACHABLE("queue type {}", static_cast<int>(type));
}

inline u64 in_words(QueueType type, u64 units) {
  switch (type) {
    case QueueType::Pm4: return units;
    case QueueType::Aql: return units * (hw::kAqlPacketBytes / sizeof(u32));
    case QueueType::Sdma: return units / sizeof(u32);
  }
  UNREACHABLE("queue type {}", static_cast<int>(type));
}

inline hw::StreamKind stream_of(QueueType type) {
  switch (type) {
    case QueueType::Pm4: return hw::StreamKind::Pm4;
    case QueueType::Aql: return hw::StreamKind::Aql;
    case QueueType::Sdma: return hw::StreamKind::Sdma;
  }
  UNREACHABLE("queue type {}", static_cast<int>(type));
}

}  // namespace doorbell::amd
