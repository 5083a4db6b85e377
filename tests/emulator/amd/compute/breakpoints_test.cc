// Breakpoints: their syntax, where and how often waves are reported, and that kernels compute what
// they do without any.
#include "emulator/amd/breakpoints.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "emulator/amd/kernel_names.h"
#include "tests/emulator/support/test_gpu.h"

namespace doorbell::emu::amdgpu {
namespace {

using testing::Arguments;
using testing::TestGpu;
using testing::TestKernel;
using testing::TestLaunch;

// out[0] = 4 + 3 + 2 + 1, by a loop whose body begins at byte 8.
constexpr const char* kLoop = R"(
  s_mov_b32 s2, 4
  s_mov_b32 s3, 0
again:
  s_add_i32 s3, s3, s2
  s_sub_i32 s2, s2, 1
  s_cmp_lg_u32 s2, 0
  s_cbranch_scc1 again
  s_load_b64 s[0:1], s[0:1], 0x0
  v_mov_b32 v0, 0
  v_mov_b32 v1, s3
  s_waitcnt lgkmcnt(0)
  global_store_b32 v0, v1, s[0:1]
  s_endpgm
)";

std::shared_ptr<Breakpoints> parse(std::string_view list, std::vector<std::string>* told,
                                   u64 most = 1, bool lds = false) {
  auto made = Breakpoints::parse(
      list,
      {.most = most, .lds = lds, .tell = [told](std::string_view t) { told->emplace_back(t); }});
  EXPECT_TRUE(made) << made.error().message;
  return *made;
}

// What a launcher does of them.
GridOptions options_for(Breakpoints& breakpoints, const TestGpu& gpu, const TestKernel& kernel,
                        GridOptions options = {}) {
  const Breakpoints::Kernel named{"kernel", kernel.code};
  options.breaks = breakpoints.addresses(named);
  options.at_break = [&gpu, &breakpoints, named](const WorkGroup& group, usize wave) {
    return breakpoints.reach(named, gpu.chip(), gpu.space(), group, wave);
  };
  return options;
}

TEST(Breakpoints, SayWhatIsWrongWithOne) {
  const auto error = [](std::string_view list) {
    return Breakpoints::parse(list, {}).error().message;
  };
  EXPECT_EQ(error("sum,:8"), "breakpoint \":8\" names no kernel and no address");
  EXPECT_EQ(error("0x12g"), "breakpoint \"0x12g\": \"0x12g\" is not an address");
  EXPECT_EQ(error("sum:x"),
            "breakpoint \"sum:x\": \"x\" is not a number of bytes, a multiple of 4");
  EXPECT_EQ(error("sum:0x42"),
            "breakpoint \"sum:0x42\": \"0x42\" is not a number of bytes, a multiple of 4");
}

TEST(Breakpoints, AreAtBytesOfKernelsByNameOrAtAddresses) {
  std::vector<std::string> told;
  auto some = parse("sum*,sum_8:+0x40,other:4,0x1000,0x1000:12", &told);
  EXPECT_EQ(some->addresses({"sum_8", 0x200}), (std::vector<u64>{0x200, 0x240, 0x1000, 0x100c}));
  EXPECT_EQ(some->addresses({"other", 0x400}), (std::vector<u64>{0x404, 0x1000, 0x100c}));
  EXPECT_EQ(some->addresses({"", 0x400}), (std::vector<u64>{0x1000, 0x100c}));
}

TEST(Breakpoints, FindTheNameInTheCodeObject) {
  for (const char* chip : {"gfx942", "gfx1030", "gfx1100"}) {
    TestGpu gpu(chip);
    constexpr const char* kKernel = "define amdgpu_kernel void @sum_8_r4() { ret void }";
    const u64 code = gpu.compile(kKernel, "", "sum_8_r4").code;
    EXPECT_EQ(kernel_name_at(gpu.space(), code), "sum_8_r4") << chip;
    EXPECT_EQ(kernel_name_at(gpu.space(), code + 4), "") << "where no kernel begins";
    EXPECT_EQ(kernel_name_at(gpu.space(), gpu.assemble("s_endpgm").code), "") << "without a note";
    EXPECT_EQ(kernel_name_at(gpu.space(), gpu.allocate(4096, true, true)), "");
    EXPECT_EQ(kernel_name_at(gpu.space(), 0x123000), "") << "where nothing is mapped";
  }
}

// Registers are those before the instruction; an arrow shows it.
TEST(Breakpoints, TellOfAWaveBeforeTheInstruction) {
  TestGpu gpu("gfx1100");
  const TestKernel kernel = gpu.assemble(kLoop);
  const u64 out = gpu.allocate(4096);
  std::vector<std::string> told;
  auto some = parse("kernel:8", &told, 3);
  TestLaunch launch{.group_size = {1, 1, 1}, .options = options_for(*some, gpu, kernel)};
  EXPECT_EQ(gpu.launch(kernel, launch, Arguments().add(out)).kind, GridStop::Kind::Done);
  EXPECT_EQ(gpu.read<u32>(out, 1)[0], 10u);
  ASSERT_EQ(told.size(), 3u);
  for (u32 i = 0; i < 3; ++i) {
    EXPECT_TRUE(told[i].starts_with(fmt::format("breakpoint kernel:8, {} of 3: kernel at ", i + 1)))
        << told[i];
    // s2 and s3, as the loop has left them.
    constexpr const char* kRegisters[] = {"00000004 00000000 ", "00000003 00000004 ",
                                          "00000002 00000007 "};
    EXPECT_EQ(told[i].substr(told[i].find("\n  s0    ") + 9 + 18, 18), kRegisters[i]) << told[i];
    EXPECT_NE(told[i].find(fmt::format("\n  => {:#x}: s_add_i32 s3, s3, s2\n", kernel.code + 8)),
              std::string::npos)
        << told[i];
  }
  EXPECT_TRUE(some->unreached().empty());
  EXPECT_EQ(parse("nobody", &told)->unreached(), std::vector<std::string>{"nobody"});
}

TEST(Breakpoints, TellEachWaveOnceAndLdsWhenAsked) {
  TestGpu gpu("gfx1100");
  const TestKernel kernel = gpu.assemble(R"(
    v_mov_b32 v1, 0
    v_mov_b32 v2, 0x77
    ds_store_b32 v1, v2 offset:32
    s_waitcnt lgkmcnt(0)
    s_nop 0
    s_endpgm
  )",
                                         {.vgprs = 8, .lds_bytes = 64});
  for (u64 seed : {0, 3}) {
    std::vector<std::string> told;
    auto some = parse("k?rnel:0x1c", &told, 100, true);
    TestLaunch launch{.groups = {3, 1, 1}, .group_size = {64, 1, 1}};
    launch.options = options_for(*some, gpu, kernel, {.seed = seed});
    EXPECT_EQ(gpu.launch(kernel, launch, {}).kind, GridStop::Kind::Done);
    EXPECT_EQ(told.size(), 6u) << "two waves in each of three groups";
    for (const std::string& text : told)
      EXPECT_NE(text.find("\n  0x0020  00000077 00000000 "), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
