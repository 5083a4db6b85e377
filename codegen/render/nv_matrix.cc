// Reads the instruction's depth off its name; words follow each other along the depth.
#include "codegen/render/nv_matrix.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/util/check.h"

namespace doorbell::codegen {

namespace {

// Words of an item's part of a row that one instruction takes: it has four items along the depth.
int words_of(const TensorCore& core) {
  const std::string_view name = core.name;
  const usize k = name.find('k', name.find(".m"));
  CHECK(k != std::string_view::npos, "no depth in {}", name);
  return std::atoi(core.name + k + 1) * static_cast<int>(core.operand_bytes()) / 16;
}

}  // namespace

bool is_nv_matrix(const TensorCore& core) {
  return std::string_view(core.name).starts_with("mma.");
}

// The first word of both rows, then the second of both. [PTX ISA 9.0, "Matrix Fragments for
// mma.m16n8k16 with floating point type"; ".m16n8k32"]
std::vector<NvMatrixStep> nv_matrix_steps(const TensorCore& core) {
  constexpr int kAll = 8, kPart = 4;
  std::vector<NvMatrixStep> steps;
  const int words = words_of(core);
  for (int part = 0; part < kAll; part += kPart) {
    for (int first = part; first < part + 2; first += words) {
      for (const int half : {0, 2}) {
        NvMatrixStep& step = steps.emplace_back();
        for (int word = first; word < first + words; ++word) {
          step.a.insert(step.a.end(), {word, word + 2});
          step.b.push_back(word + half);
        }
        for (const int row : {0, 4})
          for (const int column : {0, 1}) step.sums.push_back(row + half + column);
      }
    }
  }
  return steps;
}

std::string nv_matrix_text(const TensorCore& core, char sign) {
  int next = 0;
  const auto list = [&](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += fmt::format("{}{}{}", i ? ", " : "", sign, next++);
    return fmt::format("{{{}}}", text);
  };
  const int words = words_of(core);
  const std::string sums = list(4), a = list(2 * words), b = list(words);
  return fmt::format("{} {}, {}, {}, {};", core.name, sums, a, b, sums);
}

}  // namespace doorbell::codegen
