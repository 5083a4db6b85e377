// Lines of the trace: numbered, so that two traces of one seed can be compared; events with times
// and tracks instead.
#include "emulator/core/trace.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

namespace doorbell::emu {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out + '"';
}

}  // namespace

u64 Trace::now_ns() const {
  if (now_ns_) return now_ns_();
  return static_cast<u64>(std::chrono::steady_clock::now().time_since_epoch().count());
}

std::string Trace::name_track(int process, i64 track, std::string_view name) {
  if (!named_.insert(track).second) return "";
  return fmt::format(
      "{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":{},\"tid\":{},\"args\":{{\"name\":{}}}}}\n",
      process, track, quoted(name));
}

// [docs.google.com, "Trace Event Format": M metadata, X complete, i instant; times in microseconds]
std::string Trace::event(const TraceLine& line) {
  constexpr i64 kQueues = 1 << 30, kGpus = kQueues * 2;  // beyond the numbers of threads
  const int process = now_ns_ ? 1 : getpid();
  i64 track = now_ns_ ? 0 : gettid();
  std::string name = now_ns_ ? "calls" : fmt::format("calls of thread {}", track);
  if (line.queue >= 0) {
    track = kQueues + line.queue;
    name = fmt::format("queue {}", line.queue);
  } else if (line.gpu >= 0) {
    track = kGpus + line.gpu;
    name = fmt::format("GPU {}", line.gpu);
  }
  const u64 now = now_ns(), from = line.began_ns != 0 ? line.began_ns : now;
  std::string_view word = line.text;
  word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
  word = word.substr(0, word.find(' '));
  std::string text =
      fmt::format("{{\"name\":{},\"cat\":{},\"pid\":{},\"tid\":{},\"ts\":{}.{:03},",
                  quoted(line.kind == "ioctl" || line.kind == "packet" ? word : line.kind),
                  quoted(line.kind), process, track, from / 1000, from % 1000);
  text += line.began_ns != 0 ? fmt::format("\"ph\":\"X\",\"dur\":{}.{:03}", (now - from) / 1000,
                                           (now - from) % 1000)
                             : "\"ph\":\"i\",\"s\":\"t\"";
  text += fmt::format(",\"args\":{{\"text\":{}", quoted(line.text));
  if (!line.fields.empty()) text += fmt::format(",\"fields\":{}", line.fields);
  if (std::string named = name_track(process, track, name); !named.empty()) sink_(named);
  return text + "}}\n";
}

void Trace::write(const TraceLine& line) {
  if (!sink_ || !filter_.takes(line)) return;
  std::lock_guard lock(mutex_);
  u64 number = number_++;
  std::string text;
  if (format_ == Format::Perfetto) {
    text = event(line);
  } else if (format_ == Format::Json) {
    text = fmt::format("{{\"n\": {}, \"kind\": {}", number, quoted(line.kind));
    if (line.gpu >= 0) text += fmt::format(", \"gpu\": {}", line.gpu);
    if (line.queue >= 0) text += fmt::format(", \"queue\": {}", line.queue);
    text += fmt::format(", \"text\": {}", quoted(line.text));
    if (!line.fields.empty()) text += fmt::format(", \"fields\": {}", line.fields);
    text += "}\n";
  } else {
    text = fmt::format("{:>7} {:9}", number, line.kind);
    text += line.gpu >= 0 ? fmt::format(" gpu{}", line.gpu) : "     ";
    text += line.queue >= 0 ? fmt::format(" q{:<2} ", line.queue) : "     ";
    text += line.text;
    text += '\n';
  }
  sink_(text);
}

}  // namespace doorbell::emu
