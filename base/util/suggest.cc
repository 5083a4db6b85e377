// Damerau's restricted edit distance over short words.
#include "base/util/suggest.h"

#include <algorithm>
#include <vector>

namespace doorbell {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

usize edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the table: two back, one back, this one.
  std::vector<usize> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (usize j = 0; j <= b.size(); ++j) above[j] = j;
  for (usize i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (usize j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1]))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::string_view nearest_word(std::string_view word, std::span<const std::string> candidates) {
  std::string_view nearest;
  usize least = std::max<usize>(1, word.size() / 2) + 1;
  for (const std::string& candidate : candidates) {
    const usize distance = edit_distance(word, candidate);
    // A word with every letter changed is not a misspelling.
    if (distance >= least || distance >= std::max(word.size(), candidate.size())) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const std::string_view nearest = nearest_word(word, candidates);
  if (nearest.empty()) return "";
  return "; did you mean " + std::string(nearest) + "?";
}

}  // namespace doorbell
