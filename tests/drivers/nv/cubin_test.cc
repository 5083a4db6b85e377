// Cubins that NVRTC 13.0 made (tests/fuzz/corpus/nv_cubin). sm_* hold a kernel `scale` with shared
// memory, an array of its own, constants and variables, and one more; calls_* a kernel that calls a
// function, compiled for debuggers. Expected values are those that `cuobjdump -elf` prints.
#include "drivers/nv/cubin.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/golden.h"

namespace doorbell::nv {
namespace {

std::vector<u8> file(const std::string& name) {
  const std::string bytes = testing::read_source("tests/fuzz/corpus/nv_cubin/" + name);
  return {bytes.begin(), bytes.end()};
}

u64 word64(const std::vector<u8>& image, u64 at) {
  u64 value = 0;
  std::memcpy(&value, image.data() + at, sizeof value);
  return value;
}

std::string load_error(const std::vector<u8>& bytes, const std::string& kernel) {
  Result<Cubin> cubin = Cubin::load(bytes, kernel);
  return cubin ? "" : cubin.error().message;
}

TEST(Cubin, SaysWhatALaunchNeeds) {
  struct Expected {
    const char* name;
    u32 chip, parameter_base, shared;
  };
  for (const Expected& expected :
       {Expected{"sm_86", 86, 0x160, 0x100 + 0x400}, Expected{"sm_90", 90, 0x210, 0x500},
        Expected{"sm_120", 120, 0x380, 0x500}}) {
    Result<Cubin> cubin = Cubin::load(file(expected.name), "scale");
    ASSERT_TRUE(cubin) << cubin.error().message;
    EXPECT_EQ(cubin->chip, expected.chip);
    EXPECT_EQ(cubin->registers, 22u);
    EXPECT_EQ(cubin->barriers, 1u);
    EXPECT_EQ(cubin->stack_bytes, 0x28u);
    EXPECT_EQ(cubin->parameter_base, expected.parameter_base);
    EXPECT_EQ(cubin->parameter_bytes, 0x1cu);
    EXPECT_EQ(cubin->shared_bytes, expected.shared);
    EXPECT_EQ(cubin->most_threads, (std::array<u32, 3>{64, 1, 1}));
    EXPECT_EQ(cubin->banks[3].bytes, 16u);  // table
    EXPECT_EQ(cubin->banks[4].bytes, 32u);  // addresses of variables
    EXPECT_EQ(cubin->banks[3].offset % Cubin::kAlignment, 0u);
    float table[4];
    std::memcpy(table, cubin->image.data() + cubin->banks[3].offset, sizeof table);
    EXPECT_EQ(table[3], 4.0f);
  }
}

TEST(Cubin, BanksOfOtherKernelsAreNotOurs) {
  EXPECT_EQ(Cubin::load(file("sm_86"), "scale")->banks[2].bytes, 0u);
  EXPECT_EQ(Cubin::load(file("sm_86"), "other")->banks[2].bytes, 8u);
  EXPECT_EQ(Cubin::load(file("sm_86"), "other")->shared_bytes, 0x400u);
}

// `counter` is {1, 2, 3}, `pointer` its second element's address.
TEST(Cubin, AddressesOfVariablesAreWritten) {
  for (const char* name : {"sm_86", "sm_90", "sm_120"}) {
    Result<Cubin> cubin = Cubin::load(file(name), "scale");
    ASSERT_TRUE(cubin);
    constexpr u64 kAddress = 0x10'2000'0000;
    cubin->relocate(kAddress);
    const u64 bank = cubin->banks[4].offset;
    const u64 counter = word64(cubin->image, bank) - kAddress;
    const u64 pointer = word64(cubin->image, bank + 0x10) - kAddress;
    ASSERT_LT(counter + 12, cubin->image.size());
    ASSERT_LT(pointer + 8, cubin->image.size());
    EXPECT_EQ(word64(cubin->image, counter), u64{2} << 32 | 1);
    EXPECT_EQ(word64(cubin->image, pointer), kAddress + counter + 4);
  }
}

// nvdisasm prints the calls below as CALL.ABS.NOINC 0x1020000000, the address of the function.
TEST(Cubin, CallsGoToTheFunction) {
  struct Expected {
    const char* name;
    u64 call;
    std::array<u64, 2> words{};
  };
  for (const Expected& expected :
       {Expected{"calls_sm_86", 0x150, {0x2000000000007943, 0x003fde0003c00010}},
        Expected{"calls_sm_90", 0x140, {0x1020000000007943, 0x003fde0003c00000}}}) {
    Result<Cubin> cubin = Cubin::load(file(expected.name), "kernel");
    ASSERT_TRUE(cubin) << cubin.error().message;
    constexpr u64 kKernelBytes = 0x300;  // _Z1fi lies behind the kernel
    constexpr u64 kAddress = 0x10'2000'0000 - kKernelBytes;
    EXPECT_EQ(cubin->code_bytes, kKernelBytes);
    cubin->relocate(kAddress);
    const u64 at = cubin->entry_offset + expected.call;
    EXPECT_EQ(word64(cubin->image, at), expected.words[0]) << std::hex << expected.name;
    EXPECT_EQ(word64(cubin->image, at + 8), expected.words[1]) << std::hex << expected.name;
    // The return address, in two halves: MOV of the word at byte 4.
    const u64 back = cubin->entry_offset + expected.call + 0x10;
    EXPECT_EQ(word64(cubin->image, at - 0x20) >> 32, (kAddress + back) & ~u32{0});
    EXPECT_EQ(word64(cubin->image, at - 0x10) >> 32, 0x10u);
  }
}

TEST(Cubin, RefusesWhatIsWrong) {
  EXPECT_EQ(load_error(file("sm_86"), "missing"), "the cubin has no kernel missing");
  std::vector<u8> bytes = file("sm_86");
  bytes[18] = 62;  // e_machine: x86-64
  EXPECT_EQ(load_error(bytes, "scale"), "kernel scale is for ELF machine 62, NVIDIA's is 190");
  bytes = file("sm_86");
  bytes.resize(100);
  EXPECT_NE(load_error(bytes, "scale"), "");
}

}  // namespace
}  // namespace doorbell::nv
