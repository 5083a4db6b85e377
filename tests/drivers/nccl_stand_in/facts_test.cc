// When NCCL cannot join the GPUs of some processes, and what they say then.
#include "drivers/cuda/nccl/facts.h"

#include <gtest/gtest.h>

#include <cstring>

namespace doorbell::cuda::nccl {
namespace {

std::vector<Facts> three() {
  std::vector<Facts> facts(3);
  for (usize i = 0; i < facts.size(); ++i) {
    facts[i].gpu[15] = static_cast<u8>(i);
    facts[i].version = 22705;
  }
  return facts;
}
constexpr int kRanks[] = {1, 4, 6};

TEST(NcclFacts, DifferentGpusWithOneVersionAreJoined) { EXPECT_EQ(hindrance(three(), kRanks), ""); }

TEST(NcclFacts, ARankWithoutALibraryIsNamed) {
  std::vector<Facts> facts = three();
  facts[1].version = 0;
  std::strcpy(facts[1].why_not, "no libnccl.so.2");
  EXPECT_EQ(hindrance(facts, kRanks), "rank 4: no libnccl.so.2");
}

TEST(NcclFacts, RanksOnOneGpuAreNamed) {
  std::vector<Facts> facts = three();
  facts[2].gpu = facts[0].gpu;
  EXPECT_EQ(hindrance(facts, kRanks), "ranks 1 and 6 use one GPU, and NCCL joins different ones");
}

TEST(NcclFacts, VersionsMustBeEqual) {
  std::vector<Facts> facts = three();
  facts[1].version = 22304;
  EXPECT_EQ(hindrance(facts, kRanks), "rank 1 has NCCL 22705 and rank 4 NCCL 22304");
}

}  // namespace
}  // namespace doorbell::cuda::nccl
