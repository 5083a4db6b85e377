// DS instructions on one wave, chip by chip. Expected values are computed here, lane by lane, from
// the documents' words.
#include <gtest/gtest.h>

#include <bit>

#include "tests/emulator/support/test_wave.h"

namespace doorbell::emu::amdgpu {
namespace {

using testing::TestWave;

struct Form {
  const char* chip;
  u32 lanes;
};
void PrintTo(const Form& form, std::ostream* out) { *out << form.chip << " " << form.lanes; }

class Lds : public ::testing::TestWithParam<Form> {
 protected:
  TestWave test{GetParam().chip, GetParam().lanes};
  u32 lanes() const { return GetParam().lanes; }
  void run(std::string_view text) {
    const Exit exit = test.run(text);
    ASSERT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name;
  }
};

TEST_P(Lds, LoadsEveryWidth) {
  for (u32 i = 0; i < TestWave::kLdsBytes; ++i) test.lds<u8>(i) = static_cast<u8>(i * 7 + 3);
  test.set(1, [](u32 lane) { return 16 * ((lane * 5) % 64); });
  for (u32 r : {10u, 20u, 21u}) test.set_all(r, 0xaaaa5555);
  run(R"(
    ds_read_u8 v2, v1 offset:3
    ds_read_i8 v3, v1 offset:40
    ds_read_u16 v4, v1 offset:6
    ds_read_i16 v5, v1 offset:41
    ds_read_b32 v6, v1 offset:8
    ds_read_b64 v[8:9], v1 offset:1024
    ds_read_b96 v[12:14], v1 offset:32
    ds_read_b128 v[16:19], v1 offset:2048
    ds_read_u8_d16 v10, v1 offset:1
    ds_read_i8_d16_hi v20, v1 offset:40
    ds_read_u16_d16_hi v21, v1 offset:2
    s_waitcnt lgkmcnt(0)
  )");
  for (u32 lane = 0; lane < lanes(); ++lane) {
    const u32 at = 16 * ((lane * 5) % 64);
    EXPECT_EQ(test.get(2)[lane], test.lds<u8>(at + 3));
    EXPECT_EQ(test.get(3)[lane], static_cast<u32>(i32{test.lds<i8>(at + 40)}));
    EXPECT_EQ(test.get(4)[lane], test.lds<u16>(at + 6));
    EXPECT_EQ(test.get(5)[lane], static_cast<u32>(i32{test.lds<i16>(at + 41)}));
    EXPECT_EQ(test.get(6)[lane], test.lds<u32>(at + 8));
    for (u32 i = 0; i < 2; ++i) EXPECT_EQ(test.get(8 + i)[lane], test.lds<u32>(at + 1024 + i * 4));
    for (u32 i = 0; i < 3; ++i) EXPECT_EQ(test.get(12 + i)[lane], test.lds<u32>(at + 32 + i * 4));
    for (u32 i = 0; i < 4; ++i) {
      EXPECT_EQ(test.get(16 + i)[lane], test.lds<u32>(at + 2048 + i * 4));
    }
    EXPECT_EQ(test.get(10)[lane], 0xaaaa0000u | test.lds<u8>(at + 1));
    EXPECT_EQ(test.get(20)[lane], 0x5555u | static_cast<u32>(test.lds<i8>(at + 40)) << 16);
    EXPECT_EQ(test.get(21)[lane], 0x5555u | u32{test.lds<u16>(at + 2)} << 16);
  }
}

TEST_P(Lds, StoresActiveLanesOnly) {
  const u64 exec = 0x5a5a5a5a'0ff0f00f & test.wave.all_lanes();
  test.set(1, [](u32 lane) { return lane * 16; });
  for (u32 i = 0; i < 4; ++i) test.set(2 + i, [&](u32 lane) { return 0x11223300 + lane + i * 64; });
  test.wave.set_mask(kExecLo, exec);
  run(R"(
    ds_write_b128 v1, v[2:5]
    ds_write_b8 v1, v2 offset:1024
    ds_write_b16 v1, v2 offset:1028
    ds_write_b8_d16_hi v1, v2 offset:1032
    ds_write_b16_d16_hi v1, v2 offset:1036
    ds_write_b96 v1, v[2:4] offset:2048
    ds_write_b64 v1, v[2:3] offset:3072
  )");
  for (u32 lane = 0; lane < lanes(); ++lane) {
    const bool active = (exec >> lane & 1) != 0;
    const u32 value = active ? 0x11223300 + lane : 0;
    const auto next = [&](u32 i) { return active ? value + i * 64 : 0; };
    if (lane < 63) {
      EXPECT_EQ(test.lds<u32>(lane * 16 + 12), next(3)) << lane;
    }
    EXPECT_EQ(test.lds<u32>(1024 + lane * 16), value & 0xff);
    EXPECT_EQ(test.lds<u32>(1028 + lane * 16), value & 0xffff);
    EXPECT_EQ(test.lds<u32>(1032 + lane * 16), active ? 0x22u : 0);
    EXPECT_EQ(test.lds<u32>(1036 + lane * 16), active ? 0x1122u : 0);
    for (u32 i = 0; i < 3; ++i) EXPECT_EQ(test.lds<u32>(2048 + lane * 16 + i * 4), next(i));
    EXPECT_EQ(test.lds<u32>(3072 + lane * 16 + 4), next(1));
  }
}

TEST_P(Lds, MovesTwoElementsAtOnce) {
  for (u32 i = 0; i < TestWave::kLdsBytes / 4; ++i) test.lds<u32>(i * 4) = i;
  test.set(1, [](u32 lane) { return lane * 8; });
  run(R"(
    ds_read2_b32 v[2:3], v1 offset0:3 offset1:100
    ds_read2_b64 v[4:7], v1 offset0:1 offset1:7
    ds_read2st64_b32 v[8:9], v1 offset0:1 offset1:3
    ds_read2st64_b64 v[12:15], v1 offset0:1 offset1:2
  )");
  for (u32 lane = 0; lane < lanes(); ++lane) {
    const u32 at = lane * 2;  // in dwords
    EXPECT_EQ(test.get(2)[lane], at + 3);
    EXPECT_EQ(test.get(3)[lane], at + 100);
    EXPECT_EQ(test.get(4)[lane], at + 2);
    EXPECT_EQ(test.get(7)[lane], at + 15);
    EXPECT_EQ(test.get(8)[lane], at + 64);
    EXPECT_EQ(test.get(9)[lane], at + 192);
    EXPECT_EQ(test.get(12)[lane], at + 128);
    EXPECT_EQ(test.get(14)[lane], at + 256);
  }
  test.set(2, [](u32 lane) { return 1000 + lane; });
  test.set(3, [](u32 lane) { return 2000 + lane; });
  test.set(1, [](u32 lane) { return lane * 4; });
  run(R"(
    ds_write2_b32 v1, v2, v3 offset1:64
    ds_write2st64_b32 v1, v2, v3 offset0:2 offset1:4
  )");
  for (u32 lane = 0; lane < lanes(); ++lane) {
    EXPECT_EQ(test.lds<u32>(lane * 4), 1000 + lane);
    EXPECT_EQ(test.lds<u32>(256 + lane * 4), 2000 + lane);
    EXPECT_EQ(test.lds<u32>(512 + lane * 4), 1000 + lane);
    EXPECT_EQ(test.lds<u32>(1024 + lane * 4), 2000 + lane);
  }
}

TEST_P(Lds, AtomicsReturnWhatWasThere) {
  test.set_all(1, 64);  // all lanes meet at one dword
  test.set_all(2, 3);
  test.lds<u32>(64) = 100;
  run("ds_add_rtn_u32 v3, v1, v2");
  EXPECT_EQ(test.lds<u32>(64), 100 + 3 * lanes());
  for (u32 lane = 0; lane < lanes(); ++lane) EXPECT_EQ(test.get(3)[lane], 100 + 3 * lane);
  run("ds_sub_u32 v1, v2");
  EXPECT_EQ(test.lds<u32>(64), 100u);
}

struct AtomicCase {
  const char* name;
  u64 before, operand, after;
  u32 bytes = 4;
};
const u64 kMinusOne = ~u64{0};

TEST_P(Lds, AtomicsComputeWhatTheySay) {
  const auto f = [](float value) { return u64{std::bit_cast<u32>(value)}; };
  const auto d = [](double value) { return std::bit_cast<u64>(value); };
  const AtomicCase cases[] = {
      {"ds_add_u32", 0xffffffff, 2, 1},
      {"ds_add_u64", 0xffffffff, 2, 0x100000001, 8},
      {"ds_sub_u32", 1, 2, 0xffffffff},
      {"ds_rsub_u32", 1, 5, 4},
      {"ds_inc_u32", 5, 5, 0},
      {"ds_inc_u32", 4, 5, 5},
      {"ds_dec_u32", 0, 5, 5},
      {"ds_dec_u32", 6, 5, 5},
      {"ds_dec_u32", 5, 5, 4},
      {"ds_min_i32", 0xffffffff, 1, 0xffffffff},
      {"ds_min_u32", 0xffffffff, 1, 1},
      {"ds_max_i32", 0xffffffff, 1, 1},
      {"ds_max_u32", 0xffffffff, 1, 0xffffffff},
      {"ds_min_i64", kMinusOne, 1, kMinusOne, 8},
      {"ds_max_u64", kMinusOne, 1, kMinusOne, 8},
      {"ds_and_b32", 0xff00ff00, 0x0ff00ff0, 0x0f000f00},
      {"ds_or_b64", 0xf0, 0x0f00000000, 0x0f000000f0, 8},
      {"ds_xor_b32", 0xff, 0x0f, 0xf0},
      {"ds_add_f32", f(1.5f), f(2.25f), f(3.75f)},
      {"ds_min_f32", f(-0.0f), f(0.0f), f(-0.0f)},
      {"ds_max_f32", f(-0.0f), f(0.0f), f(0.0f)},
      {"ds_max_f32", 0x7fc00000, f(1.0f), f(1.0f)},
      {"ds_min_f64", d(2.5), d(-1.0), d(-1.0), 8},
  };
  test.wave.set_mask(kExecLo, 1);
  test.set_all(1, 128);
  for (const AtomicCase& c : cases) {
    test.lds<u64>(128) = c.before;
    test.set_all(2, static_cast<u32>(c.operand));
    test.set_all(3, static_cast<u32>(c.operand >> 32));
    run(std::string(c.name) + (c.bytes == 8 ? " v1, v[2:3]" : " v1, v2"));
    EXPECT_EQ(test.lds<u64>(128), c.after) << c.name;
  }
}

TEST_P(Lds, ComparesInTheChipsOrder) {
  const bool store_first = test.wave.chip->generation >= Generation::Gfx11;
  test.wave.set_mask(kExecLo, 1);
  test.set_all(1, 128);
  test.set_all(2, store_first ? 77 : 5);  // gfx11 on: the new value comes first
  test.set_all(3, store_first ? 5 : 77);
  const char* name = store_first ? "ds_cmpstore_rtn_b32" : "ds_cmpst_rtn_b32";
  test.lds<u32>(128) = 5;
  run(std::string(name) + " v4, v1, v2, v3");
  EXPECT_EQ(test.lds<u32>(128), 77u);
  EXPECT_EQ(test.get(4)[0], 5u);
  run(std::string(name) + " v4, v1, v2, v3");
  EXPECT_EQ(test.lds<u32>(128), 77u);
  EXPECT_EQ(test.get(4)[0], 77u);
}

TEST_P(Lds, Permutes) {
  const u32 reach =
      lanes() == 64 && (test.wave.chip->major == 10 || test.wave.chip->major == 11) ? 32 : lanes();
  test.set(1, [](u32 lane) { return (lane * 3 + 1) * 4; });
  test.set(2, [](u32 lane) { return 500 + lane; });
  run("ds_bpermute_b32 v3, v1, v2");
  for (u32 lane = 0; lane < lanes(); ++lane) {
    const u32 from = lane / reach * reach + (lane * 3 + 1) % reach;
    EXPECT_EQ(test.get(3)[lane], 500 + from);
  }
  run("ds_permute_b32 v3, v1, v2");
  for (u32 lane = 0; lane < lanes(); ++lane) {
    const u32 to = lane / reach * reach + (lane * 3 + 1) % reach;
    EXPECT_EQ(test.get(3)[to], 500 + lane);
  }
  test.wave.set_mask(kExecLo,
                     0x5);  // lanes 0 and 2; the others read as zero, and keep what they have
  test.set(1, [](u32 lane) { return lane == 0 ? 4 : 0; });
  test.set_all(3, 9);
  run("ds_bpermute_b32 v3, v1, v2");
  EXPECT_EQ(test.get(3)[0], 0u);
  EXPECT_EQ(test.get(3)[1], 9u);
  EXPECT_EQ(test.get(3)[2], 500u);
}

TEST_P(Lds, Swizzles) {
  test.set(1, [](u32 lane) { return 100 + lane; });
  run(R"(
    ds_swizzle_b32 v2, v1 offset:swizzle(QUAD_PERM, 3, 1, 0, 2)
    ds_swizzle_b32 v3, v1 offset:swizzle(SWAP, 4)
    ds_swizzle_b32 v4, v1 offset:swizzle(REVERSE, 8)
    ds_swizzle_b32 v5, v1 offset:swizzle(BROADCAST, 16, 5)
  )");
  const u32 quad[] = {3, 1, 0, 2};
  for (u32 lane = 0; lane < lanes(); ++lane) {
    EXPECT_EQ(test.get(2)[lane], 100 + lane / 4 * 4 + quad[lane % 4]);
    EXPECT_EQ(test.get(3)[lane], 100 + (lane ^ 4));
    EXPECT_EQ(test.get(4)[lane], 100 + lane / 8 * 8 + 7 - lane % 8);
    EXPECT_EQ(test.get(5)[lane], 100 + lane / 16 * 16 + 5);
  }
}

TEST_P(Lds, CountsLanes) {
  test.wave.s[kM0] = 32;
  test.lds<u32>(40) = 10;
  test.wave.set_mask(kExecLo, 0xf0);
  run("ds_append v2 offset:8");
  EXPECT_EQ(test.lds<u32>(40), 14u);
  EXPECT_EQ(test.get(2)[7], 10u);
  run("ds_consume v2 offset:8");
  EXPECT_EQ(test.lds<u32>(40), 10u);
  EXPECT_EQ(test.get(2)[4], 14u);
}

TEST_P(Lds, StopsBeyondTheGroupsShare) {
  test.set(1, [](u32 lane) { return lane == 5 ? TestWave::kLdsBytes - 2 : 0; });
  const Exit exit = test.run("ds_write_b32 v1, v2");
  EXPECT_EQ(exit.kind, Exit::Kind::Bounds);
  EXPECT_EQ(exit.lane, 5u);
  EXPECT_TRUE(exit.write);
  EXPECT_NE(exit.name.find("4 bytes at 0xffe of LDS, the group has 0x1000"), std::string::npos)
      << exit.name;
}

INSTANTIATE_TEST_SUITE_P(Chips, Lds,
                         ::testing::Values(Form{"gfx942", 64}, Form{"gfx1030", 32},
                                           Form{"gfx1030", 64}, Form{"gfx1100", 32},
                                           Form{"gfx1100", 64}, Form{"gfx1201", 32}));

}  // namespace
}  // namespace doorbell::emu::amdgpu
