// How a test breaks a rule of the command processors: packets as in pm4_test.cc, registers from
// gc_11_0_0_offset.h.
#pragma once

#include <vector>

#include "tests/emulator/amd/cp/test_gpu.h"

namespace doorbell::emu::amdgpu {

constexpr u32 packet3(u32 opcode, u32 payload) {
  return 0xc0000000u | (payload - 1) << 16 | opcode << 8;
}

inline std::vector<u32> operator+(std::vector<u32> a, const std::vector<u32>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

inline std::vector<u32> release(u32 event, u32 index, u32 data_sel, u32 int_sel, u64 va) {
  return {packet3(0x49, 7),
          event | index << 8,
          data_sel << 29 | int_sel << 24,
          lo(va),
          hi(va),
          1,
          0,
          0};
}

class RulesTest : public TestGpu {
 protected:
  static constexpr u64 kCode = kBase + 0x6000, kDescriptor = kCode - 0x40;
  static constexpr u64 kArguments = kBase + 0x7000;

  // Submits `words` at level error; the rule of `id` is broken once, and the queue has stopped.
  void expect_broken(const char* id, const std::vector<u32>& words,
                     GpuOptions options = {.generation = hw::Generation::Gfx11}) {
    open(options, QueueKind::Pm4);
    put_ = 0;
    submit(words);
    EXPECT_EQ(count(id), 1u) << id;
    EXPECT_NE(stopped().find(id), std::string::npos) << id << ": " << stopped();
    // At level warn the queue continues as on hardware, or stops for another reason.
    checks_.reset();
    open(options, QueueKind::Pm4, Level::Warn);
    put_ = 0;
    submit(words);
    EXPECT_EQ(count(id), 1u) << id << " as a warning";
  }
};

class DispatchRulesTest : public RulesTest {
 protected:
  struct State {
    u32 rsrc1 = 0x600f0000, rsrc2 = 2 << 1, rsrc3 = 0;
    u32 threads = 32;
    u32 initiator = 1 | 1 << 2 | 1 << 15;
    u32 tmpring = 0;
    u64 arguments = kArguments;
    std::vector<u32> dispatch(u64 entry = kCode) const {
      return std::vector<u32>{packet3(0x76, 4), 0x207, threads, 1, 1} +
             std::vector<u32>{packet3(0x76, 3), 0x20c, lo(entry >> 8), hi(entry >> 8)} +
             std::vector<u32>{packet3(0x76, 3), 0x212, rsrc1, rsrc2} +
             std::vector<u32>{packet3(0x76, 2), 0x228, rsrc3} +
             std::vector<u32>{packet3(0x76, 2), 0x218, tmpring} +
             std::vector<u32>{packet3(0x76, 3), 0x210, lo(kData >> 8), hi(kData >> 8)} +
             std::vector<u32>{packet3(0x76, 3), 0x240, lo(arguments), hi(arguments)} + go();
    }
    std::vector<u32> go() const { return {packet3(0x15, 4), 1, 1, 1, initiator}; }
  };

  DispatchRulesTest() {
    poke<u32>(kDescriptor + 8, 16);
    poke<u64>(kDescriptor + 16, 0x40);
    poke<u32>(kDescriptor + 48, 0x600f0000);
    poke<u32>(kDescriptor + 52, 2 << 1);
    poke<u16>(kDescriptor + 56, 1 << 3 | 1 << 10);
  }
};

}  // namespace doorbell::emu::amdgpu
