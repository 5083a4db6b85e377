// What an emulated machine did, line by line: ioctls, packets, dispatches, interrupts, faults. One
// line is text or a JSON object. What the fields of a packet are called is for drivers/*/hw.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "base/util/types.h"

namespace doorbell::emulator {

struct TraceLine {
  std::string_view kind;  // "ioctl", "packet", "dispatch", "interrupt", "fault", "check"
  int gpu = -1;           // -1: of the machine as a whole
  int queue = -1;
  std::string_view text;    // for people: "ACQUIRE_MEM gcr_cntl=0x1ff"
  std::string_view fields;  // the same as a JSON object, or empty
};

// Thread safety: from any thread; lines do not mix.
class Trace {
 public:
  enum class Format : u8 { Text, Json };
  using Sink = std::function<void(std::string_view line)>;  // with its newline

  Trace() = default;  // nobody listens
  Trace(Sink sink, Format format) : sink_(std::move(sink)), format_(format) {}

  // Ask before printing a packet: nobody pays for a line that nobody reads.
  bool enabled() const { return static_cast<bool>(sink_); }
  void write(const TraceLine& line);

 private:
  Sink sink_;
  Format format_ = Format::Text;
  std::mutex mutex_;  // sink_ while it is called, number_
  u64 number_ = 0;
};

}  // namespace doorbell::emulator
