// A bar on standard error for work that takes long, when that is a terminal; nothing when it is
// not. What is drawn is gone when the work is done, so that results stand alone. Tools have bars of
// their own; show_progress() draws one for what the library does (base/util/progress.h).
#pragma once

#include <string_view>

#include "base/util/types.h"

namespace doorbell::runtime {

// Thread safety: one thread at a time.
class ProgressBar {
 public:
  // `total` steps of work; 0: nobody knows, and only the text is shown.
  explicit ProgressBar(i64 total);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // `done` of the steps, and what is being done: drawn ten times a second at most, and cut to the
  // terminal's width.
  void tell(i64 done, std::string_view text);
  // Before something else is printed.
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

// What the setting PROGRESS is where nobody sets it: programs have no bars, unless whoever runs
// them is a person at a prompt, as the Python module assumes. Before the runtime starts.
void prefer_progress();
bool is_progress_preferred();

}  // namespace doorbell::runtime
