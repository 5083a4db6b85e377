// Counts as JSON lines.
#include "emulator/core/counts_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

namespace doorbell::emu {

namespace {

// Names are identifiers, as a rule; others lose what JSON would escape.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const bool plain = c != '"' && c != '\\' && static_cast<unsigned char>(c) >= 0x20;
    out += plain ? c : '?';
  }
  return out + '"';
}

}  // namespace

std::string to_json(std::string_view kernel, const KernelCounts& counts) {
  std::string line = fmt::format("{{\"kernel\": {}", quoted(kernel));
  KernelCounts::fields(counts, [&](const char* name, u64 value) {
    line += fmt::format(", \"{}\": {}", name, value);
  });
  return line + "}\n";
}

Result<void> append_counts(const Counts& counts, const std::string& path) {
  const CountsByKernel kernels = counts.kernels();
  if (kernels.empty()) return {};
  std::string lines;
  for (const auto& [kernel, one] : kernels) lines += to_json(kernel, one);
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return fail_errno(errno, "open {}", path);
  // In one piece, so that lines of several processes do not mix.
  const ssize_t put = ::write(file, lines.data(), lines.size());
  const int error = put < 0 ? errno : 0;
  ::close(file);
  if (put < 0) return fail_errno(error, "write {}", path);
  if (static_cast<usize>(put) != lines.size())
    return fail(ErrorKind::Os, "only {} of {} bytes were written to {}", put, lines.size(), path);
  return {};
}

}  // namespace doorbell::emu
