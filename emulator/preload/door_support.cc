// Writing to files and standard error from inside another program.
#include "emulator/preload/door_support.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/util/try.h"
#include "emulator/core/number.h"
#include "emulator/core/trace_file.h"

namespace doorbell::emu {

void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    ssize_t put = ::write(descriptor, text.data(), text.size());
    if (put <= 0) return;  // the reader is gone
    text.remove_prefix(static_cast<usize>(put));
  }
}

Result<int> open_to_append(const char* path) {
  const int file = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return fail_errno(errno, "open {}", path);
  return file;
}

void say(const std::string& text) { write_all(STDERR_FILENO, "doorbell emu: " + text + "\n"); }

std::function<void(const Report&)> report_to(const DoorbellEmulatorOptions& given) {
  std::string errors = std::string(given.root) + "/errors";
  int file = ::open(errors.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  return [file](const Report& report) {
    std::string text = to_string(report);
    say(text);
    if (report.level == Level::Error && file >= 0) write_all(file, text + "\n");
  };
}

Result<DoorTrace> open_trace(const DoorbellEmulatorOptions& given) {
  DoorTrace trace;
  if (!*given.trace) return trace;
  TRY(const u64 limit, parse_number("EMU_TRACE_LIMIT", given.trace_limit, 0));
  TRY(trace.filter, TraceFilter::parse(given.trace_only));
  TRY(std::unique_ptr<TraceFile> opened, TraceFile::open(given.trace, limit));
  const std::shared_ptr<TraceFile> file = std::move(opened);  // by the copies of the sink
  trace.sink = [file](std::string_view line) { file->write(line); };
  trace.format = file->format();
  return trace;
}

}  // namespace doorbell::emu
