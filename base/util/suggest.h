// "did you mean": finds the word nearest to a mistyped one, for error messages.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/util/types.h"

namespace doorbell {

// The candidate nearest to `word` by edits (insert, drop, change, swap neighbours), if it is near
// enough; case does not count. Empty if none is.
std::string_view nearest_word(std::string_view word, std::span<const std::string> candidates);

// The number of edits between two words, as above.
usize edit_distance(std::string_view a, std::string_view b);

// "; did you mean X?", or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace doorbell
