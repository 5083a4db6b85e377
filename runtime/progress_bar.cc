// Drawing over the same line.
#include "runtime/progress_bar.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>

#include <fmt/format.h>

#include "base/os/host.h"
#include "base/util/progress.h"

namespace doorbell::runtime {
namespace {

constinit std::atomic<int> bars{0};  // number of live bars

constexpr u64 kBetweenDrawings_ns = 100'000'000;

usize terminal_columns() {
  winsize size{};
  constexpr usize kUsual = 80;
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

}  // namespace

ProgressBar::ProgressBar(i64 total) : total_(total), is_terminal_(isatty(STDERR_FILENO)) {
  bars.fetch_add(1, std::memory_order_relaxed);
}

ProgressBar::~ProgressBar() {
  clear();
  bars.fetch_sub(1, std::memory_order_relaxed);
}

void ProgressBar::tell(i64 done, std::string_view text) {
  const u64 now_ns = os::host_clock().now_ns();
  if (!is_terminal_ || (is_drawn_ && now_ns - told_ns_ < kBetweenDrawings_ns)) return;
  told_ns_ = now_ns;
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

namespace {

constinit std::atomic<bool> preferred{false};

// Of several works at once, draws the one reported last.
class LibraryBar final : public ProgressObserver {
 public:
  void tell(const Progress& progress) override {
    std::lock_guard lock(mutex_);
    if (!bar_ && bars.load(std::memory_order_relaxed) > 0) return;  // another bar is drawn
    const bool is_bytes = progress.unit == Progress::Unit::Bytes;
    const i64 scale = is_bytes ? i64{1} << 20 : 1;
    const i64 total = std::max<i64>(1, progress.total / scale);
    if (!bar_ || total_ != total) {
      bar_.reset();
      bar_ = std::make_unique<ProgressBar>(total);
    }
    total_ = total;
    bar_->tell(progress.done / scale, fmt::format("{}{}", is_bytes ? "MiB, " : "", progress.what));
  }
  void end() override {
    std::lock_guard lock(mutex_);
    bar_.reset();
  }

 private:
  std::mutex mutex_;  // guards the members below
  std::unique_ptr<ProgressBar> bar_;
  i64 total_ = 0;
};

}  // namespace

void show_progress() {
  if (isatty(STDERR_FILENO)) set_progress_observer(new LibraryBar);  // kept: threads may outlive us
}

void prefer_progress() { preferred = true; }
bool is_progress_preferred() { return preferred; }

}  // namespace doorbell::runtime
