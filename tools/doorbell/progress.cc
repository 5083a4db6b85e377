// Drawing over the same line.
#include "tools/doorbell/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include <fmt/format.h>

#include "tools/measure/measure.h"

namespace doorbell::tools {
namespace {

constexpr f64 kBetweenDrawings = 0.1;  // seconds

usize terminal_columns() {
  winsize size{};
  constexpr usize kUsual = 80;
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

}  // namespace

ProgressBar::ProgressBar(i64 total) : total_(total), is_terminal_(isatty(STDERR_FILENO)) {}

void ProgressBar::tell(i64 done, std::string_view text) {
  if (!is_terminal_ || (is_drawn_ && now() - told_ < kBetweenDrawings)) return;
  told_ = now();
  is_drawn_ = true;
  std::string line;
  if (total_ > 0) {
    constexpr usize kWidth = 30;
    const i64 within = std::clamp<i64>(done, 0, total_);
    const usize full = kWidth * static_cast<usize>(within) / static_cast<usize>(total_);
    line = fmt::format("[{}{}] {}/{}  ", std::string(full, '='), std::string(kWidth - full, ' '),
                       within, total_);
  }
  line += text;
  // In the last column the next line would begin.
  line.resize(std::min(line.size(), terminal_columns() - 1));
  fmt::print(stderr, "\r{}\x1b[K", line);
  std::fflush(stderr);
}

void ProgressBar::clear() {
  if (!is_drawn_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  is_drawn_ = false;
}

}  // namespace doorbell::tools
