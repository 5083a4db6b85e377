// The trace of an emulated machine, line by line: ioctls, packets, dispatches, interrupts, faults.
// A line is text or a JSON object, or an event for Perfetto and chrome://tracing. See drivers/*/hw
// for the fields of packets, trace_file.h for where lines go.
#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "base/util/types.h"
#include "emulator/core/trace_filter.h"

namespace doorbell::emu {

struct TraceLine {
  std::string_view kind;  // "ioctl", "packet", "dispatch", "interrupt", "fault", "check"
  int gpu = -1;           // -1: of the machine as a whole
  int queue = -1;
  std::string_view text;    // as text: "ACQUIRE_MEM gcr_cntl=0x1ff"
  std::string_view fields;  // the same as a JSON object, or empty
  u64 began_ns = 0;         // by Trace::now_ns(), for lines with a duration; 0: an instant
};

// Thread safety: from any thread; lines do not mix.
class Trace {
 public:
  // Json: an object on each line. Perfetto: events of the "Trace Event Format", one on each line.
  enum class Format : u8 { Text, Json, Perfetto };
  using Sink = std::function<void(std::string_view line)>;  // with its newline

  Trace() = default;  // writes nowhere
  // `now_ns` gives the times of events; null: the host's clock. If it is given, lines contain
  // nothing else of the host.
  Trace(Sink sink, Format format, TraceFilter filter = {}, std::function<u64()> now_ns = nullptr)
      : sink_(std::move(sink)),
        format_(format),
        filter_(std::move(filter)),
        now_ns_(std::move(now_ns)) {}

  // Call it before printing a packet, so that lines that are filtered out cost nothing.
  bool enabled() const { return static_cast<bool>(sink_); }
  void write(const TraceLine& line);
  u64 now_ns() const;

 private:
  std::string event(const TraceLine& line);
  std::string name_track(int process, i64 track, std::string_view name);

  Sink sink_;
  Format format_ = Format::Text;
  TraceFilter filter_;
  std::function<u64()> now_ns_;
  std::mutex mutex_;  // guards the members below, and sink_ while it is called
  u64 number_ = 0;
  std::set<i64> named_;  // tracks of events
};

}  // namespace doorbell::emu
