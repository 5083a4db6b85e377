// Which lines of a trace are written: by kind, by the name of an ioctl or packet, by queue.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::emu {

struct TraceLine;

// Thread safety: const from any thread.
class TraceFilter {
 public:
  // All lines.
  TraceFilter() = default;
  // "ioctl,packet:DISPATCH*,queue:0": lines of these kinds, or lines of a kind with this name,
  // which may end with a star. If queues are named, only their lines among those of queues.
  // Invalid: a kind that no line has, with the nearest.
  static Result<TraceFilter> parse(std::string_view text);

  bool takes(const TraceLine& line) const;

 private:
  struct Item {
    std::string kind, name;  // no name: all
    bool is_prefix = false;
  };
  std::vector<Item> items_;
  std::vector<int> queues_;
};

}  // namespace doorbell::emu
