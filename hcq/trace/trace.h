// Trace: spans of work on devices and the host, as JSON for Perfetto and chrome://tracing. Graphs
// add kernels and copies from device timestamps, engines their waits, the host its other work.
// runtime/ decides to trace and names the file: it sets the process's trace before it opens
// devices, and code with spans (such as a driver with its own events) adds them there.
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

  // A source whose spans are known only after the device has written their times.
  class Source {
   public:
    virtual ~Source() = default;
    // Adds finished spans. False if some are still running.
    virtual bool collect(Trace& trace) = 0;
  };

  // The process's trace if one was requested; otherwise null.
  static Trace* of_process();
  // Called by the runtime before devices are opened, and by tests. It outlives graphs bound
  // afterwards.
  static void set_of_process(Trace* trace);

  void add(Span span);
  // Called whenever spans are read. shared_ptr: a source may have spans after its graph is
  // destroyed. It is released when it has finished and has no other owner.
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

// A span of "host" in the process's trace for the calling thread and the life of this object. Costs
// next to nothing without a trace.
class HostSpan {
 public:
  HostSpan(std::string_view name, std::string_view category);
  ~HostSpan();
  HostSpan(const HostSpan&) = delete;
  HostSpan& operator=(const HostSpan&) = delete;

  // For a name that is known only later.
  void rename(std::string_view name) {
    if (trace_ != nullptr) name_ = name;
  }

 private:
  Trace* const trace_;
  std::string name_, category_;
  u64 begin_ns_ = 0;
};

}  // namespace doorbell::hcq
