// Hazards: which earlier uses of memory a new use has to wait for: it reads what was written (RAW),
// or writes what was read or written (WAR, WAW). Memory is byte ranges of storages; two storages
// never overlap. For the resulting waits see order.h.
#pragma once

#include <span>
#include <vector>

#include "base/util/types.h"

namespace doorbell::hcq {

enum class Access : u8 { Read, Write };  // memory both read and written counts as written

struct Use {
  u32 storage;
  u64 offset, bytes;
  Access access;
};

class Hazards {
 public:
  // `queues`: on how many queues nodes may be.
  explicit Hazards(u32 queues) : queues_(queues) {}

  // Adds to `after` the nodes, by number, that `node` on `queue` must follow through this use; and
  // remembers it. Nodes of one queue run in order, so that only the last reader of a queue counts.
  void use(const Use& use, u32 node, u32 queue, std::vector<u32>* after);

 private:
  static constexpr u32 kNone = ~u32{0};
  struct Range {
    u64 begin, end;
    u32 writer = kNone;
    std::vector<u32> readers;  // by queue, since the write; empty: none yet
  };
  // The ranges that make up [begin, end), made by cutting those that straddle it.
  std::span<Range> cut(u32 storage, u64 begin, u64 end);

  u32 queues_;
  std::vector<std::vector<Range>> storages_;  // each sorted, without gaps between uses made so far
};

}  // namespace doorbell::hcq
