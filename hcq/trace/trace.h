// Trace: what ran where and when, as the JSON that Perfetto and chrome://tracing read. Graphs put
// kernels and copies here from device timestamps, engines what they wait for, the host what it does
// in between. Deciding to trace, and the file, are the runtime's: it sets the process's trace
// before it opens devices, and whoever has spans to tell (a driver with events of its own) adds
// them there.
//
//   if (hcq::Trace* trace = hcq::Trace::of_process())
//     trace->add({name(), "compute", kernel, "kernel", begin_ns, end_ns});
//
// Times are those of os::host_clock().
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/util/types.h"

namespace doorbell::hcq {

class Trace {
 public:
  struct Span {
    std::string device;    // "CPU:1": a process of the trace
    std::string queue;     // "copy": a thread of it
    std::string name;      // "sum_16_4"
    std::string category;  // "kernel", "copy"
    u64 begin_ns = 0, end_ns = 0;
  };

  // Who knows its spans only when the device has told their times.
  class Source {
   public:
    virtual ~Source() = default;
    // Adds what is finished. False where something is still under way.
    virtual bool collect(Trace& trace) = 0;
  };

  // The process's, where one was asked for; else null.
  static Trace* of_process();
  // By the runtime, before devices are opened, and by tests. It outlives the graphs bound since.
  static void set_of_process(Trace* trace);

  void add(Span span);
  // Asked whenever spans are. shared_ptr: a source may have spans to tell when its graph is gone.
  // When it is nobody else's, and finished, it is let go.
  void add_source(std::shared_ptr<Source> source);
  // In order of adding.
  std::vector<Span> spans();
  // One event a line, times in microseconds since the first span. Spans of one queue in order.
  std::string json();

 private:
  void collect();

  std::mutex sources_mutex_;  // guards sources_; taken before spans_mutex_
  std::vector<std::shared_ptr<Source>> sources_;
  std::mutex spans_mutex_;  // guards spans_
  std::vector<Span> spans_;
};

// What the calling thread does for the life of this object, as a span of "host" in the process's
// trace. Costs next to nothing without one.
class HostSpan {
 public:
  HostSpan(std::string_view name, std::string_view category);
  ~HostSpan();
  HostSpan(const HostSpan&) = delete;
  HostSpan& operator=(const HostSpan&) = delete;

  // Where the name is only known later.
  void rename(std::string_view name) {
    if (trace_ != nullptr) name_ = name;
  }

 private:
  Trace* const trace_;
  std::string name_, category_;
  u64 begin_ns_ = 0;
};

}  // namespace doorbell::hcq
