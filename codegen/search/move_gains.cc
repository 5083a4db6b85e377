// Means, drawn towards no change while there are few samples.
#include "codegen/search/move_gains.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/util/format.h"

namespace doorbell::codegen {
namespace {

constexpr f64 kPrior = 2;        // samples of no change that each move begins with
constexpr f64 kMostOfOne = 1.5;  // of a logarithm: one disaster does not condemn a move
constexpr i64 kMostSamples = 256;

std::string name_of(std::string_view kind, std::string_view word) {
  return fmt::format("{} {}", kind, word);
}

}  // namespace

void MoveGains::learn(std::string_view kind, std::string_view word, f64 before, f64 after) {
  if (!(before > 0) || !(after > 0)) return;
  Mean& mean = moves_[name_of(kind, word)];
  // What was learned long ago fades.
  if (mean.count >= kMostSamples) mean.count /= 2, mean.sum /= 2;
  ++mean.count;
  mean.sum += std::clamp(std::log(after / before), -kMostOfOne, kMostOfOne);
}

f64 MoveGains::expected(std::string_view kind, std::string_view word) const {
  const auto found = moves_.find(name_of(kind, word));
  if (found == moves_.end()) return 1;
  return std::exp(found->second.sum / (static_cast<f64>(found->second.count) + kPrior));
}

std::string MoveGains::to_text() const {
  std::string text;
  for (const auto& [name, mean] : moves_)
    text += fmt::format("{} {} {}\n", name, mean.count, mean.sum);
  return text;
}

Result<MoveGains> MoveGains::parse(std::string_view text) {
  MoveGains gains;
  while (!text.empty()) {
    const usize end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const usize sum = line.rfind(' ');
    const usize count = sum == line.npos || sum == 0 ? line.npos : line.rfind(' ', sum - 1);
    Mean mean;
    const auto parse = [](std::string_view word, auto* value) {
      const char* last = word.data() + word.size();
      const auto [at, error] = std::from_chars(word.data(), last, *value);
      return error == std::errc() && at == last;
    };
    if (count == line.npos || !parse(line.substr(count + 1, sum - count - 1), &mean.count) ||
        !parse(line.substr(sum + 1), &mean.sum) || mean.count < 0 || !std::isfinite(mean.sum))
      return fail(ErrorKind::Corrupt, "'{}' is no gain of a move", line);
    gains.moves_[std::string(line.substr(0, count))] = mean;
  }
  return gains;
}

}  // namespace doorbell::codegen
