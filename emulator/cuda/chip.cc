// The table of chips. [CUDA Programming Guide 13, 5.1 "Compute Capabilities", "Technical
// Specifications per Compute Capability"; multiprocessors, L2 and memory: the data sheets of the
// boards named]
#include "emulator/cuda/chip.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace doorbell::emu::cuda {
namespace {

constexpr u64 kGiB = u64{1} << 30;
constexpr int kKiB = 1 << 10, kMiB = 1 << 20;

// clang-format off
constexpr Chip kChips[] = {
//  name     GPU                          capability
//    SMs, threads, shared memory of an SM and of a block, L2, memory
  {"sm_75", "Emulated Tesla T4", 7, 5,
      40,  1024, 64 * kKiB,  64 * kKiB,  4 * kMiB,  16 * kGiB},
  {"sm_80", "Emulated A100", 8, 0,
      108, 2048, 164 * kKiB, 163 * kKiB, 40 * kMiB, 40 * kGiB},
  {"sm_86", "Emulated GeForce RTX 3090", 8, 6,
      82,  1536, 100 * kKiB, 99 * kKiB,  6 * kMiB,  24 * kGiB},
  {"sm_89", "Emulated GeForce RTX 4090", 8, 9,
      128, 1536, 100 * kKiB, 99 * kKiB,  72 * kMiB, 24 * kGiB},
  {"sm_90", "Emulated H100", 9, 0,
      132, 2048, 228 * kKiB, 227 * kKiB, 50 * kMiB, 80 * kGiB},
};
// clang-format on

Result<Chip> parse_gpu(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  const auto row = std::ranges::find(kChips, name, &Chip::name);
  if (row == std::end(kChips)) {
    std::string known;
    for (const Chip& chip : kChips)
      known += fmt::format("{}{}", known.empty() ? "" : ", ", chip.name);
    return fail(ErrorKind::Invalid, "no emulated CUDA GPU is a {}; there are {}", name, known);
  }
  Chip chip = *row;
  if (name.size() == text.size()) return chip;
  const std::string_view count = text.substr(name.size() + 1);
  int parsed = 0;
  const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), parsed);
  const bool is_number = error == std::errc() && end == count.data() + count.size();
  if (!is_number || parsed < 1 || parsed > chip.multiprocessors)
    return fail(ErrorKind::Invalid, "{} multiprocessors of an emulated {}, which has {}", count,
                name, chip.multiprocessors);
  chip.multiprocessors = parsed;
  return chip;
}

}  // namespace

std::span<const Chip> chips() { return kChips; }

Result<std::vector<Chip>> parse_gpus(std::string_view text) {
  std::vector<Chip> found;
  while (true) {
    const std::string_view gpu = text.substr(0, text.find(','));
    TRY(const Chip chip, parse_gpu(gpu));
    found.push_back(chip);
    if (gpu.size() == text.size()) return found;
    text.remove_prefix(gpu.size() + 1);
  }
}

}  // namespace doorbell::emu::cuda
