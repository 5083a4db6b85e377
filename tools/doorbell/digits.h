// Handwritten digits for `doorbell demo`: the part of MNIST that comes with Doorbell, or the whole
// set from a folder of the user. tensor/io reads IDX files; for the training see train.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::tools {

inline constexpr i64 kDigitPixels = 28 * 28;

struct DigitSet {
  std::vector<u8> images;   // kDigitPixels each, row by row
  std::vector<i32> labels;  // 0 to 9

  usize size() const { return labels.size(); }
};

struct Digits {
  DigitSet train, held_out;
  std::string folder;
};

// The 10,000 digits that come with Doorbell: 8,000 to train on, the other 2,000 held out.
Digits load_shipped_digits();
// All 60,000 and 10,000, from a folder with the four files of the set. Both throw Error, with the
// path, and the offset where a file is damaged.
Digits load_all_digits(const std::string& folder);

}  // namespace doorbell::tools
