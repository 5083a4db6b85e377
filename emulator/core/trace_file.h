// The file of a trace. Several processes may append to it, and it is complete after every line:
// JSON closes its list each time. See trace.h for the lines.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/util/result.h"
#include "emulator/core/trace.h"

namespace doorbell::emu {

// Thread safety: write() from one thread at a time in each process; several processes may write.
class TraceFile {
 public:
  // Makes an empty trace, replacing the file. Returns its absolute path, because programs change
  // their folder.
  static Result<std::string> create(const std::string& path);
  // Makes the file, or appends to it. At `limit` bytes, unless 0, a last line says so, and nothing
  // more is written.
  static Result<std::unique_ptr<TraceFile>> open(const std::string& path, u64 limit);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  // A line with its newline, of format().
  void write(std::string_view line);
  // By the file's name: .json is for Perfetto, .jsonl has an object on each line, other names are
  // text.
  Trace::Format format() const { return format_; }

  static Trace::Format format_of(std::string_view path);

 private:
  TraceFile(int descriptor, Trace::Format format, u64 limit)
      : descriptor_(descriptor), format_(format), limit_(limit) {}

  const int descriptor_;
  const Trace::Format format_;
  const u64 limit_;
  bool is_full_ = false;
};

}  // namespace doorbell::emu
