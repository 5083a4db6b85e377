// A bar on standard error for work that takes long, when that is a terminal; nothing when it is
// not. What is drawn is gone when the work is done, so that results stand alone.
#pragma once

#include <string_view>

#include "base/util/types.h"

namespace doorbell::tools {

// Thread safety: one thread at a time.
class ProgressBar {
 public:
  // `total` steps of work; 0: nobody knows, and only the text is shown.
  explicit ProgressBar(i64 total);
  ~ProgressBar() { clear(); }
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
  f64 told_ = 0;
};

}  // namespace doorbell::tools
