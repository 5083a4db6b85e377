// GLOBAL, FLAT and SCRATCH instructions on one wave, chip by chip.
#include <gtest/gtest.h>

#include <bit>

#include "tests/emulator/support/test_wave.h"

namespace doorbell::emu::amdgpu {
namespace {

using testing::TestWave;
constexpr u64 kData = TestWave::kData;

struct Form {
  const char* chip;
  u32 lanes;
};
void PrintTo(const Form& form, std::ostream* out) { *out << form.chip << " " << form.lanes; }

class GlobalMemory : public ::testing::TestWithParam<Form> {
 protected:
  TestWave test{GetParam().chip, GetParam().lanes};
  u32 lanes() const { return GetParam().lanes; }
  Generation generation() const { return test.wave.chip->generation; }
  // What asks an atomic for the value before.
  std::string returns() const {
    if (generation() == Generation::Gfx9) return " sc0";
    return generation() == Generation::Gfx12 ? " th:TH_ATOMIC_RETURN" : " glc";
  }
  void run(std::string_view text) {
    const Exit exit = test.run(text);
    ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name << " " << exit.address;
  }
  // v[2:3] = base + lane * stride, the base in s[4:5] too; the lane's offset in v8.
  void set_addresses(u64 base, u32 stride) {
    test.wave.set_pair(4, base);
    test.set(8, [&](u32 lane) { return lane * stride; });
    test.set(2, [&](u32 lane) { return base + u64{lane} * stride; });
    test.set(3, [&](u32 lane) { return (base + u64{lane} * stride) >> 32; });
  }
  void fill_data() {
    for (u32 i = 0; i < TestWave::kDataBytes; ++i) test.data<u8>(i) = static_cast<u8>(i * 13 + 5);
  }
};

TEST_P(GlobalMemory, LoadsEveryWidth) {
  fill_data();
  set_addresses(kData + 4096, 20);
  for (u32 r : {20u, 21u}) test.set_all(r, 0xaaaa5555);
  run(R"(
    global_load_ubyte v10, v[2:3], off offset:3
    global_load_sbyte v11, v[2:3], off offset:-17
    global_load_ushort v12, v[2:3], off offset:2047
    global_load_sshort v13, v8, s[4:5] offset:6
    global_load_dword v14, v8, s[4:5] offset:-2048
    global_load_dwordx2 v[16:17], v[2:3], off
    global_load_dwordx3 v[24:26], v8, s[4:5]
    global_load_dwordx4 v[28:31], v[2:3], off offset:16
    global_load_short_d16 v20, v[2:3], off
    global_load_sbyte_d16_hi v21, v[2:3], off offset:5
    flat_load_dword v32, v[2:3]
    flat_load_dwordx4 v[36:39], v[2:3]
  )");
  for (u32 lane = 0; lane < lanes(); ++lane) {
    const u32 at = 4096 + lane * 20;
    EXPECT_EQ(test.get(10)[lane], test.data<u8>(at + 3));
    EXPECT_EQ(test.get(11)[lane], static_cast<u32>(i32{test.data<i8>(at - 17)}));
    EXPECT_EQ(test.get(12)[lane], test.data<u16>(at + 2047));
    EXPECT_EQ(test.get(13)[lane], static_cast<u32>(i32{test.data<i16>(at + 6)}));
    EXPECT_EQ(test.get(14)[lane], test.data<u32>(at - 2048));
    for (u32 i = 0; i < 2; ++i) EXPECT_EQ(test.get(16 + i)[lane], test.data<u32>(at + i * 4));
    for (u32 i = 0; i < 3; ++i) EXPECT_EQ(test.get(24 + i)[lane], test.data<u32>(at + i * 4));
    for (u32 i = 0; i < 4; ++i) EXPECT_EQ(test.get(28 + i)[lane], test.data<u32>(at + 16 + i * 4));
    EXPECT_EQ(test.get(20)[lane], 0xaaaa0000u | test.data<u16>(at));
    EXPECT_EQ(test.get(21)[lane], 0x5555u | static_cast<u32>(test.data<i8>(at + 5)) << 16);
    EXPECT_EQ(test.get(32)[lane], test.data<u32>(at));
    for (u32 i = 0; i < 4; ++i) EXPECT_EQ(test.get(36 + i)[lane], test.data<u32>(at + i * 4));
  }
}

TEST_P(GlobalMemory, LoadsOverItsOwnAddress) {
  fill_data();
  set_addresses(kData, 4);
  run("global_load_dwordx4 v[2:5], v[2:3], off");
  for (u32 lane = 0; lane < lanes(); ++lane) {
    for (u32 i = 0; i < 4; ++i) EXPECT_EQ(test.get(2 + i)[lane], test.data<u32>((lane + i) * 4));
  }
}

TEST_P(GlobalMemory, StoresActiveLanesOnly) {
  const u64 exec = 0xa5a5a5a5'0f0ff00f & test.wave.all_lanes();
  set_addresses(kData, 32);
  for (u32 i = 0; i < 4; ++i)
    test.set(10 + i, [&](u32 lane) { return 0x01020300 + lane + i * 256; });
  test.wave.set_mask(kExecLo, exec);
  run(R"(
    global_store_dwordx4 v[2:3], v[10:13], off
    global_store_byte v8, v10, s[4:5] offset:16
    global_store_short_d16_hi v[2:3], v10, off offset:20
    flat_store_dwordx2 v[2:3], v[12:13] offset:24
  )");
  for (u32 lane = 0; lane < lanes(); ++lane) {
    const bool active = (exec >> lane & 1) != 0;
    const u32 at = lane * 32, value = active ? 0x01020300 + lane : 0;
    for (u32 i = 0; i < 4; ++i) {
      EXPECT_EQ(test.data<u32>(at + i * 4), active ? value + i * 256 : 0);
    }
    EXPECT_EQ(test.data<u32>(at + 16), value & 0xff);
    EXPECT_EQ(test.data<u32>(at + 20), active ? 0x0102u : 0);
    EXPECT_EQ(test.data<u32>(at + 24), active ? value + 512 : 0);
    EXPECT_EQ(test.data<u32>(at + 28), active ? value + 768 : 0);
  }
}

TEST_P(GlobalMemory, NamesTheLaneThatFaults) {
  set_addresses(kData, 4);
  test.wave.row(3)[7] = 0x99;  // somewhere else
  const Exit exit = test.run("global_load_dword v10, v[2:3], off");
  EXPECT_EQ(exit.kind, Exit::Kind::Fault);
  EXPECT_EQ(exit.lane, 7u);
  EXPECT_EQ(exit.address, (u64{0x99} << 32) + 28);
  EXPECT_EQ(exit.pc, TestWave::kCode);
  EXPECT_FALSE(exit.write);
  EXPECT_EQ(test.get(10)[0], 0u);  // nothing was loaded
}

TEST_P(GlobalMemory, ReachesLdsAndScratchThroughFlatAddresses) {
  test.lds<u32>(64) = 1111;
  test.data<u32>(12) = 2222;
  // Lane 0: LDS at 64; lane 1: scratch at 8; lane 2: memory.
  test.wave.set_mask(kExecLo, 7);
  test.scratch<u32>((8 / 4 * lanes() + 1) * 4) = 3333;
  test.set(2, [](u32 lane) {
    return lane == 0 ? 64 : lane == 1 ? 8 : static_cast<u32>(kData) + 12;
  });
  test.set(3, [](u32 lane) { return lane == 0 ? 1u << 16 : lane == 1 ? 2u << 16 : kData >> 32; });
  run("flat_load_dword v10, v[2:3]");
  EXPECT_EQ(test.get(10)[0], 1111u);
  EXPECT_EQ(test.get(10)[1], 3333u);
  EXPECT_EQ(test.get(10)[2], 2222u);
  test.set(4, [](u32 lane) { return 10 + lane; });
  run("flat_atomic_add v11, v[2:3], v4" + returns());
  EXPECT_EQ(test.get(11)[0], 1111u);
  EXPECT_EQ(test.get(11)[1], 3333u);
  EXPECT_EQ(test.get(11)[2], 2222u);
  EXPECT_EQ(test.lds<u32>(64), 1121u);
  EXPECT_EQ(test.data<u32>(12), 2234u);
}

TEST_P(GlobalMemory, KeepsEachLanesScratchApart) {
  const bool both_addresses = generation() >= Generation::Gfx11 || generation() == Generation::Gfx9;
  test.set(10, [](u32 lane) { return 1000 + lane; });
  test.set(11, [](u32 lane) { return 2000 + lane; });
  test.set(1, [](u32 lane) { return lane % 4 * 8; });  // offsets that differ among lanes
  test.wave.s[6] = 64;
  run(R"(
    scratch_store_dword off, v10, s6 offset:12
    scratch_store_dwordx2 v1, v[10:11], off offset:128
  )");
  run(R"(
    scratch_load_dword v12, off, s6 offset:12
    scratch_load_dwordx2 v[14:15], v1, off offset:128
    scratch_load_ushort v16, v1, off offset:130
  )");
  for (u32 lane = 0; lane < lanes(); ++lane) {
    EXPECT_EQ(test.get(12)[lane], 1000 + lane);
    EXPECT_EQ(test.get(14)[lane], 1000 + lane);
    EXPECT_EQ(test.get(15)[lane], 2000 + lane);
    EXPECT_EQ(test.get(16)[lane], 0u);
    EXPECT_EQ(test.scratch<u32>(((64 + 12) / 4 * lanes() + lane) * 4), 1000 + lane);
  }
  if (!both_addresses) return;
  run("scratch_load_dword v12, v1, s6 offset:64");
  for (u32 lane = 0; lane < lanes(); ++lane) EXPECT_EQ(test.get(12)[lane], 1000 + lane);
}

TEST_P(GlobalMemory, CrossesDwordsInScratch) {
  test.set(10, [](u32 lane) { return 0x44332200 + lane; });
  run("scratch_store_dword off, v10, off offset:6");
  run("scratch_load_dword v11, off, off offset:6\nscratch_load_ushort v12, off, off offset:7");
  for (u32 lane = 0; lane < lanes(); ++lane) {
    EXPECT_EQ(test.get(11)[lane], 0x44332200 + lane);
    EXPECT_EQ(test.get(12)[lane], 0x3322u);
  }
}

TEST_P(GlobalMemory, StopsBeyondALanesScratch) {
  test.wave.s[6] = 250;
  const Exit exit = test.run("scratch_load_dword v12, off, s6 offset:4");
  EXPECT_EQ(exit.kind, Exit::Kind::Bounds);
  EXPECT_NE(exit.name.find("4 bytes at 0xfe of scratch, a lane has 0x100"), std::string::npos)
      << exit.name;
}

TEST_P(GlobalMemory, AtomicsMeetInOneWord) {
  set_addresses(kData, 0);
  test.data<u32>(0) = 7;
  test.set_all(10, 2);
  run("global_atomic_add v12, v[2:3], v10, off" + returns());
  for (u32 lane = 0; lane < lanes(); ++lane) EXPECT_EQ(test.get(12)[lane], 7 + 2 * lane);
  EXPECT_EQ(test.data<u32>(0), 7 + 2 * lanes());
  test.set_all(12, 99);
  run("global_atomic_sub v8, v10, s[4:5]");
  EXPECT_EQ(test.data<u32>(0), 7u);
  EXPECT_EQ(test.get(12)[0], 99u);
}

struct AtomicCase {
  const char* name;
  u64 before, operand, after;
  u32 bytes = 4;
  u64 compare = 0;
  u32 operands = 1;
};

TEST_P(GlobalMemory, AtomicsComputeWhatTheySay) {
  const auto f = [](float value) { return u64{std::bit_cast<u32>(value)}; };
  const auto d = [](double value) { return std::bit_cast<u64>(value); };
  std::vector<AtomicCase> cases = {
      {"swap", 1, 2, 2},
      {"swap_x2", 1, 0x200000003, 0x200000003, 8},
      {"cmpswap", 5, 9, 9, 4, 5, 2},
      {"cmpswap", 6, 9, 6, 4, 5, 2},
      {"cmpswap_x2", u64{5} << 40, 9, 9, 8, u64{5} << 40, 2},
      {"smin", 0xffffffff, 1, 0xffffffff},
      {"umin", 0xffffffff, 1, 1},
      {"smax_x2", ~u64{0}, 1, 1, 8},
      {"umax", 0xffffffff, 1, 0xffffffff},
      {"and", 0xff00, 0x0ff0, 0x0f00},
      {"or_x2", 1, u64{1} << 63, (u64{1} << 63) | 1, 8},
      {"xor", 0xff, 0xf, 0xf0},
      {"inc", 3, 3, 0},
      {"dec", 0, 3, 3},
  };
  if (generation() != Generation::Gfx10) cases.push_back({"add_f32", f(1.5f), f(2.0f), f(3.5f)});
  if (generation() == Generation::Gfx9) {
    cases.push_back({"add_f64", d(1.5), d(2.0), d(3.5), 8});
    cases.push_back({"max_f64", d(1.5), d(2.0), d(2.0), 8});
  }
  if (generation() == Generation::Gfx9 || generation() == Generation::Gfx12) {
    // 1.5 and -2 in both halves, with 0.5 and 4 added.
    cases.push_back({"pk_add_f16", 0xc0003e00, 0x44003800, 0x40004000});
    cases.push_back({"pk_add_bf16", 0xc0003fc0, 0x40803f00, 0x40004000});
  }
  test.wave.set_mask(kExecLo, 1);
  set_addresses(kData, 0);
  for (const AtomicCase& c : cases) {
    test.data<u64>(0) = c.before;
    const u32 words = c.bytes / 4;
    const u64 operands[] = {c.operand, c.compare};
    for (u32 i = 0; i < words * c.operands; ++i) {
      test.set_all(10 + i, static_cast<u32>(operands[i / words] >> (i % words * 32)));
    }
    const u32 last = 9 + words * c.operands;
    const std::string data = last == 10 ? "v10" : "v[10:" + std::to_string(last) + "]";
    run("global_atomic_" + std::string(c.name) + " v[2:3], " + data + ", off");
    EXPECT_EQ(test.data<u64>(0), c.after) << c.name;
  }
}

const Form kForms[] = {{"gfx942", 64},  {"gfx1030", 32}, {"gfx1030", 64},
                       {"gfx1100", 32}, {"gfx1100", 64}, {"gfx1201", 32}};
INSTANTIATE_TEST_SUITE_P(Chips, GlobalMemory, ::testing::ValuesIn(kForms));

}  // namespace
}  // namespace doorbell::emu::amdgpu
