// Chooses the words that fit.
#include "codegen/lower/kernel_name.h"

#include <algorithm>

#include "base/util/format.h"
#include "codegen/lower/operation_words.h"

namespace doorbell::codegen {
namespace {

constexpr usize kMaxWords = 4, kWordsLength = 28, kKeyLength = 9;

usize length_of(const std::vector<OperationWord>& words) {
  usize length = 0;
  for (const OperationWord& word : words) length += word.text.size() + 1;
  return length;
}

// Drops the words of the lowest rank, the last first.
std::string fitting(std::vector<OperationWord> words) {
  while (words.size() > 1 && (words.size() > kMaxWords || length_of(words) > kWordsLength + 1)) {
    auto least = words.begin();
    for (auto word = words.begin(); word != words.end(); ++word)
      if (word->rank >= least->rank) least = word;
    words.erase(least);
  }
  std::string text;
  for (const OperationWord& word : words)
    text += (text.empty() ? "" : "_") + std::string(word.text);
  return text;
}

}  // namespace

std::string kernel_name(const KernelInfo& info, u64 key) {
  std::string name = fitting(operation_words(info));
  for (const RangeInfo& r : info.ranges) {
    if (!r.range) continue;
    std::string size = r.reduce ? "_r" : "_";
    size += r.size > 0 ? std::to_string(r.size) : "n";
    if (name.size() + size.size() + kKeyLength > kLongestKernelName) break;
    name += size;
  }
  return name + fmt::format("_{:08x}", static_cast<u32>(key));
}

}  // namespace doorbell::codegen
