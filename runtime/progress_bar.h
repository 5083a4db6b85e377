// A bar on standard error for work that takes long, when that is a terminal; nothing when it is
// not. It is erased when the work is done. Tools make their own bars; show_progress() draws one for
// the library's work (base/util/progress.h).
#pragma once

#include <string_view>

#include "base/util/types.h"

namespace doorbell::runtime {

// Thread safety: one thread at a time.
class ProgressBar {
 public:
  // `total` steps of work; 0: unknown, and only the text is shown.
  explicit ProgressBar(i64 total);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // `done` steps and the current work: drawn at most ten times a second, and cut to the terminal's
  // width.
  void tell(i64 done, std::string_view text);
  // Erases the bar; call before printing something else.
  void clear();
  bool is_shown() const { return is_terminal_; }

 private:
  const i64 total_;
  const bool is_terminal_;
  bool is_drawn_ = false;
  u64 told_ns_ = 0;
};

// Compilations and copies that take more than a second have a bar from now on. Not within another
// bar. Does nothing where standard error is no terminal.
void show_progress();

// The default of the setting PROGRESS: programs have no bars, but the Python module turns them on.
// Call before the runtime starts.
void prefer_progress();
bool is_progress_preferred();

}  // namespace doorbell::runtime
