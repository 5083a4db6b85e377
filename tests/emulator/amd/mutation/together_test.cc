// Fields that several packets have: removing one of them is not detected, and packet_survivors.txt
// says "again" of it; taken from all of them it is missed.
#include <gtest/gtest.h>

#include <algorithm>

#include "drivers/amd/hw/stream/stream.h"
#include "tests/emulator/amd/mutation/packet_mutants.h"
#include "tests/emulator/amd/mutation/workload.h"

namespace doorbell::testing {
namespace {

namespace hw = amd::hw;

struct Part {
  const char* packet;
  const char* field;  // made 0; null: the packet is dropped
};

struct Together {
  const char* what;
  const char* chip;
  hw::Generation generation;
  bool aql;
  std::vector<Part> parts;
};

class Without final : public emu::amdgpu::PacketHook {
 public:
  explicit Without(const Together& together)
      : together_(together), found_(together.parts.size(), false) {}
  Verdict packet(emu::amdgpu::QueueId, emu::amdgpu::QueueKind kind, unsigned,
                 std::vector<u32>& words) override {
    if (kind == emu::amdgpu::QueueKind::Sdma) return Verdict::Take;
    const StreamPacket packet = hw::read_packet(stream_kind(kind), together_.generation, words);
    for (usize i = 0; i < together_.parts.size(); ++i) {
      const Part& part = together_.parts[i];
      if (packet.name != part.packet) continue;
      if (part.field == nullptr) {
        found_[i] = true;
        return Verdict::Skip;
      }
      for (const PacketField& field : packet.fields)
        if (field.name == part.field && field.value != 0) {
          found_[i] = true;
          deposit(words, *field.place, 0);
        }
    }
    return Verdict::Take;
  }
  bool found_all() const { return std::ranges::count(found_, false) == 0; }

 private:
  const Together& together_;
  std::vector<bool> found_;
};

const Together kTogether[] = {
    {"vector cache kept",
     "gfx1100",
     hw::Generation::Gfx11,
     false,
     {{"ACQUIRE_MEM", "glv_inv"}, {"RELEASE_MEM", "glv_inv"}}},
    {"L2 never written back",
     "gfx1201",
     hw::Generation::Gfx12,
     false,
     {{"ACQUIRE_MEM", "gl2_wb"}, {"RELEASE_MEM", "gl2_wb"}}},
    {"L2 never written back",
     "gfx942",
     hw::Generation::Gfx9,
     false,
     {{"ACQUIRE_MEM", "tc_wb_action_ena"}, {"RELEASE_MEM", "tc_wb_action_ena"}}},
    {"L2 never written back",
     "gfx1201",
     hw::Generation::Gfx12,
     true,
     {{"KERNEL_DISPATCH", "release"}, {"RELEASE_MEM", "gl2_wb"}, {"ACQUIRE_MEM", "gl2_wb"}}},
    {"L2 never written back",
     "gfx942",
     hw::Generation::Gfx9,
     true,
     {{"KERNEL_DISPATCH", "release"},
      {"RELEASE_MEM", "tc_wb_action_ena"},
      {"ACQUIRE_MEM", "tc_wb_action_ena"}}},
    {"no waves waited for",
     "gfx942",
     hw::Generation::Gfx9,
     true,
     {{"KERNEL_DISPATCH", "barrier"}, {"VENDOR_PM4_IB", "barrier"}, {"EVENT_WRITE", nullptr}}},
    {"writes not waited for",
     "gfx1100",
     hw::Generation::Gfx11,
     true,
     {{"WRITE_DATA", "wr_confirm"}, {"VENDOR_PM4_IB", "release"}}},
    {"nothing acquired",
     "gfx942",
     hw::Generation::Gfx9,
     true,
     {{"KERNEL_DISPATCH", "acquire"}, {"ACQUIRE_MEM", nullptr}}},
    {"nothing acquired",
     "gfx1100",
     hw::Generation::Gfx11,
     true,
     {{"KERNEL_DISPATCH", "acquire"}, {"ACQUIRE_MEM", nullptr}}},
};

TEST(Mutants, ThatAreSaidTwiceAreCaughtTogether) {
  for (const Together& together : kTogether) {
    const auto code = compile_workload(together.chip);
    ASSERT_TRUE(code) << to_string(code.error());
    bool caught = false, found = false;
    for (u64 seed = 1; seed <= 6 && !caught; ++seed) {
      Without hook(together);
      caught =
          !run_workload({.chip = together.chip, .aql = together.aql, .seed = seed}, *code, &hook)
               .clean();
      found |= hook.found_all();
    }
    EXPECT_TRUE(caught && found) << together.what << " on " << together.chip
                                 << (together.aql ? " AQL" : " PM4")
                                 << (found ? "" : ": a part of it is not there");
  }
}

}  // namespace
}  // namespace doorbell::testing
