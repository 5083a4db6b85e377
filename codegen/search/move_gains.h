// MoveGains: what each move (moves.h) brought in searches so far, by kind of kernel: the mean of
// the logarithms of how much faster a kernel became. A search tries moves in the order of what they
// promise, so that it finds good plans sooner the more was searched. For where it is kept see
// tuned_plans.h.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::codegen {

class MoveGains {
 public:
  // A move made a kernel that took `before` take `after`.
  void learn(std::string_view kind, std::string_view word, f64 before, f64 after);
  // The factor by which time is expected to change: below 1 is faster. Moves that were never tried
  // are expected to change nothing.
  f64 expected(std::string_view kind, std::string_view word) const;
  // A line for each move, by name.
  std::string to_text() const;
  static Result<MoveGains> parse(std::string_view text);

 private:
  struct Mean {
    i64 count = 0;
    f64 sum = 0;  // of log(after / before)
  };
  std::map<std::string, Mean, std::less<>> moves_;  // by "kind word"
};

}  // namespace doorbell::codegen
