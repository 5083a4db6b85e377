// Lines of the trace: numbered, so that two traces of one seed can be compared.
#include "emulator/core/trace.h"

#include <fmt/format.h>

namespace doorbell::emulator {
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

void Trace::write(const TraceLine& line) {
  if (!sink_) return;
  std::lock_guard lock(mutex_);
  u64 number = number_++;
  std::string text;
  if (format_ == Format::Json) {
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

}  // namespace doorbell::emulator
