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

bool is_nv_warpgroup(const TensorCore& core) {
  return std::string_view(core.name).starts_with("wgmma");
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

namespace {

constexpr i64 kStepBytes = 32;  // of the depth of one wgmma
constexpr i64 kDescriptorUnit = 16;
// The high word of all descriptors: 128-byte swizzle (1 in bits 62 and 63), and the distance from
// eight rows to the next (bits 32 to 45). [PTX ISA 9.0, "Asynchronous Warpgroup Level Matrix Shared
// Memory Layout", "Matrix Descriptor Format"; NVIDIA/cutlass include/cute/arch/mma_sm90_desc.hpp]
constexpr u32 kHighWord = u32{1} << 30 | 8 * kLocalRowBytes / kDescriptorUnit;

// From one step along the depth to the next: within a row, or as many rows further as it has
// elements.
i64 step_units(const TensorCore& core, bool along_output) {
  const i64 rows = kStepBytes / core.operand_bytes();
  return (along_output ? rows * kLocalRowBytes : kStepBytes) / kDescriptorUnit;
}

}  // namespace

// Where rows lie along the output, the distance from one run of rows to the next (bits 16 to 29).
u32 nv_descriptor(core::UOp wmma, usize operand) {
  const LocalMatrix matrix = local_matrix(wmma, operand);
  const i64 bytes = tensor_core(wmma.arg(0)).operand_bytes();
  const i64 leading = matrix.along_output ? matrix.pitch * bytes / kDescriptorUnit : 1;
  CHECK(leading < 1 << 14, "{} elements between the runs of a tile", matrix.pitch);
  return static_cast<u32>(leading) << 16;
}

// Sums are added to (1), factors keep their signs (1, 1), and those of 16 bits may be transposed.
// The fence orders accesses of registers before. [PTX ISA 9.0, "wgmma.mma_async", "wgmma.fence",
// "wgmma.commit_group", "wgmma.wait_group"]
std::string nv_warpgroup_text(core::UOp wmma, char sign) {
  const TensorCore& core = tensor_core(wmma.arg(0));
  const LocalMatrix a = local_matrix(wmma, 0), b = local_matrix(wmma, 1);
  const std::string_view name = core.name;
  const std::string_view types = name.substr(name.find('.'));
  std::string sums, last;
  for (i64 i = 0; i < core.result_elements; ++i)
    sums += fmt::format("{}{}{}", i ? ", " : "", sign, i);
  if (core.result == core::Scalar::F32) last = ", 1, 1";
  if (core.operand_bytes() == 2)
    last += fmt::format(", {:d}, {:d}", a.along_output, b.along_output);
  std::string text = fmt::format(
      "{{ .reg .b32 low, high; .reg .b64 a, b; mov.b32 high, 0x{:x}; wgmma.fence.sync.aligned; ",
      kHighWord);
  const i64 steps = kLocalRowBytes / kStepBytes;
  for (i64 step = 0; step < steps; ++step) {
    text += fmt::format(
        "add.u32 low, {0}{1}, {2}; mov.b64 a, {{low, high}}; "
        "add.u32 low, {0}{3}, {4}; mov.b64 b, {{low, high}}; "
        "wgmma.mma_async.sync.aligned.m64n{5}k{6}{7} {{{8}}}, a, b, 1{9}; ",
        sign, core.result_elements, step * step_units(core, a.along_output),
        core.result_elements + 1, step * step_units(core, b.along_output), core.columns,
        core.depth / steps, types, sums, last);
  }
  if (batches_left(wmma) != kSameBatch) {
    text += fmt::format("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned {}; ",
                        batches_left(wmma));
  }
  return text + "}";
}

std::string nv_warpgroup_wait() { return "wgmma.wait_group.sync.aligned 0;"; }

// mma ignores the bits that tf32 does not have: without this it would round to zero. [PTX ISA 9.0,
// "cvt"; "mma", "the lower 13 bits are ignored"]
std::string nv_tf32_text(char sign) { return fmt::format("cvt.rna.tf32.f32 {0}0, {0}1;", sign); }

}  // namespace doorbell::codegen
