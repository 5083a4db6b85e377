// Trace: what ran where and when, as the JSON that Perfetto and chrome://tracing read. Graphs put
// kernels and copies here from device timestamps; the host may add its own spans. Deciding to
// trace, and the file, are the runtime's.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "base/util/types.h"

namespace doorbell::hcq {

class Trace {
 public:
  struct Span {
    std::string device;    // "CPU:1": a process of the trace
    std::string queue;     // "copy": a thread of it
    std::string name;      // "r_16_4"
    std::string category;  // "kernel", "copy"
    u64 begin_ns = 0, end_ns = 0;
  };

  void add(Span span);
  std::vector<Span> spans() const;
  // One event a line, times in microseconds since the first span. Spans of one queue in order.
  std::string json() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Span> spans_;
};

}  // namespace doorbell::hcq
