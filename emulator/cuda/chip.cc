// The table of chips. [CUDA Programming Guide 13, 5.1 "Compute Capabilities", "Technical
// Specifications per Compute Capability"; multiprocessors, L2 and memory: the data sheets of the
// boards named]
#include "emulator/cuda/chip.h"

#include <fmt/format.h>

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

}  // namespace

std::span<const Chip> chips() { return kChips; }

Result<std::vector<const Chip*>> parse_gpus(std::string_view text) {
  std::vector<const Chip*> found;
  while (true) {
    const std::string_view name = text.substr(0, text.find(','));
    const Chip* chip = nullptr;
    std::string known;
    for (const Chip& row : kChips) {
      if (row.name == name) chip = &row;
      known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
    }
    if (chip == nullptr)
      return fail(ErrorKind::Invalid, "no emulated CUDA GPU is a {}; there are {}", name, known);
    found.push_back(chip);
    if (name.size() == text.size()) return found;
    text.remove_prefix(name.size() + 1);
  }
}

}  // namespace doorbell::emu::cuda
