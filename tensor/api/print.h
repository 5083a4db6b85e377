// How tensors are printed: digits, and from which size on they are shortened.
#pragma once

#include <optional>

#include "base/util/types.h"

namespace doorbell {

struct PrintOptions {
  int precision = 4;                 // digits behind the point
  i64 threshold = 1000;              // more elements are shortened to the ends of the axes
  i64 edge_items = 3;                // elements of each end
  usize line_width = 80;             // columns
  std::optional<bool> scientific{};  // not given: by the values
};

// Of the whole process; any thread may ask and set. Numbers that cannot be meant throw.
PrintOptions print_options();
void set_print_options(const PrintOptions& options);

}  // namespace doorbell
