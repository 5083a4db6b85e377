// Appends each line under the file's lock; in JSON before the bracket that ends the list.
#include "emulator/core/trace_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include <fmt/format.h>

namespace doorbell::emu {
namespace {

constexpr std::string_view kEmpty = "[\n]\n", kBegin = "[\n", kEnd = "\n]\n";

// Writes until the whole text is written, or writing fails.
void put(int descriptor, std::string_view text, off_t at) {
  while (!text.empty()) {
    const ssize_t done = ::pwrite(descriptor, text.data(), text.size(), at);
    if (done <= 0) return;
    text.remove_prefix(static_cast<usize>(done));
    at += done;
  }
}

}  // namespace

Trace::Format TraceFile::format_of(std::string_view path) {
  if (path.ends_with(".json")) return Trace::Format::Perfetto;
  return path.ends_with(".jsonl") ? Trace::Format::Json : Trace::Format::Text;
}

Result<std::string> TraceFile::create(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0) return fail_errno(errno, "open {}", path);
  if (format_of(path) == Trace::Format::Perfetto) put(descriptor, kEmpty, 0);
  close(descriptor);
  return std::filesystem::absolute(path).string();
}

Result<std::unique_ptr<TraceFile>> TraceFile::open(const std::string& path, u64 limit) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) return fail_errno(errno, "open {}", path);
  return std::unique_ptr<TraceFile>(new TraceFile(descriptor, format_of(path), limit));
}

TraceFile::~TraceFile() { close(descriptor_); }

void TraceFile::write(std::string_view line) {
  if (is_full_) return;
  const int before = errno;  // of the client, whose call this is
  flock(descriptor_, LOCK_EX);
  const off_t size = lseek(descriptor_, 0, SEEK_END);
  std::string last;
  if (limit_ != 0 && static_cast<u64>(size) + line.size() > limit_) {
    is_full_ = true;
    const std::string why = fmt::format("the trace ends here, at its limit of {} bytes", limit_);
    switch (format_) {
      case Trace::Format::Text: last = why + "\n"; break;
      case Trace::Format::Json:
        last = fmt::format("{{\"kind\": \"end\", \"text\": \"{}\"}}\n", why);
        break;
      case Trace::Format::Perfetto:
        last = fmt::format("{{\"name\":\"{}\",\"ph\":\"M\",\"pid\":0}}\n", why);
    }
    line = last;
  }
  if (format_ != Trace::Format::Perfetto || size < 0) {
    put(descriptor_, line, size < 0 ? 0 : size);
  } else {
    line.remove_suffix(1);
    const bool is_first = size <= static_cast<off_t>(kEmpty.size());
    const std::string text =
        fmt::format("{}{}{}", is_first ? kBegin : std::string_view(",\n"), line, kEnd);
    put(descriptor_, text, is_first ? 0 : size - static_cast<off_t>(kEnd.size()));
  }
  flock(descriptor_, LOCK_UN);
  errno = before;
}

}  // namespace doorbell::emu
