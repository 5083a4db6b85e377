// What several packets say: taken from one it is not missed, and fetch_survivors.txt says "again"
// of it; taken from all of them it is.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <vector>

#include "drivers/nv/hw/methods.h"
#include "tests/emulator/nv/mutation/fetch_mutants.h"
#include "tests/emulator/nv/mutation/workload.h"

namespace doorbell::testing {
namespace {

namespace hw = nv::hw;
using emu::nvgpu::Fetched;

// Bits that are cleared wherever they come: of a method, and a field of descriptors.
struct Together {
  const char* what;
  u32 method, bits;
  std::vector<hw::QmdField> fields;
};

class Without final : public emu::nvgpu::FetchHook {
 public:
  Without(const Together& together, hw::QmdVersion version)
      : together_(together), version_(version) {}
  Verdict fetched(const Fetched& what, std::span<u32> words) override {
    if (what.kind == Fetched::Kind::Data && what.method == together_.method)
      words[0] &= ~together_.bits;
    if (what.kind == Fetched::Kind::Descriptor)
      for (const hw::QmdField field : together_.fields)
        deposit(words, hw::Qmd::position(version_, field)->bits, 0);
    return Verdict::Take;
  }

 private:
  const Together& together_;
  const hw::QmdVersion version_;
};

constexpr u32 kInvalidate = hw::InvalidateShaderCachesNoWfi::kMethod;
constexpr u32 kSemaphore = hw::Semaphore::kMethod + 16;

const Together kTogether[] = {
    {"the L1 is kept", kInvalidate, 1u << 4, {hw::QmdField::InvalidateShaderDataCache}},
    {"constants are kept",
     kInvalidate,
     1u << 12,
     {hw::QmdField::ConstantBufferInvalidate, hw::QmdField::InvalidateShaderConstantCache}},
    {"code is kept", kInvalidate, 1u << 0, {hw::QmdField::InvalidateInstructionCache}},
    {"semaphores do not wait", kSemaphore, 1u << 20, {}},
};

TEST(NvMutants, ThatAreSaidTwiceAreCaughtTogether) {
  for (const auto& [chip, version] :
       {std::pair("sm_86", hw::QmdVersion::V3_0), std::pair("sm_90", hw::QmdVersion::V4_0)})
    for (const Together& together : kTogether) {
      bool is_caught = false;
      for (u64 seed = 1; seed <= 20 && !is_caught; ++seed) {
        Without hook(together, version);
        is_caught =
            !run_nv_workload({.chip = chip, .adversarial = true, .seed = seed, .hook = &hook})
                 .clean();
      }
      EXPECT_TRUE(is_caught) << together.what << " on " << chip;
    }
}

}  // namespace
}  // namespace doorbell::testing
