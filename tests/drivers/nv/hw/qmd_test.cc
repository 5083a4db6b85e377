// QMDs against those that tinygrad fills, see words.h. Of V04_00, which it does not have, single
// fields stand where NVIDIA's header says (open-gpu-doc clcbc0qmd.h).
#include "drivers/nv/hw/qmd/qmd.h"

#include <gtest/gtest.h>

#include "tests/drivers/nv/hw/words.h"

namespace doorbell::nv::hw {
namespace {

using testing::kKernargs;
using testing::words_of;

Qmd qmd_at(QmdVersion version, const std::string& name, usize byte) {
  const std::vector<u32> memory = words_of(name);
  return *Qmd::from_words(version,
                          std::span<const u32>(memory).subspan(byte / 4, qmd_words(version)));
}

// What both versions say of a launch. `bank` is the size of constant bank 0 in bytes, which
// tinygrad puts into a field of 16-byte units.
void expect_launch(const Qmd& qmd, std::array<u64, 3> grid, std::array<u64, 3> block, u64 arguments,
                   u64 bank) {
  using enum QmdField;
  EXPECT_EQ(qmd.get(QmdGroupId), 0x3f);
  EXPECT_EQ(qmd.get(GridWidth), grid[0]);
  EXPECT_EQ(qmd.get(GridHeight), grid[1]);
  EXPECT_EQ(qmd.get(GridDepth), grid[2]);
  EXPECT_EQ(qmd.get(CtaThreadDimension0), block[0]);
  EXPECT_EQ(qmd.get(CtaThreadDimension1), block[1]);
  EXPECT_EQ(qmd.get(CtaThreadDimension2), block[2]);
  EXPECT_EQ(qmd.get(BarrierCount), 1);
  EXPECT_EQ(qmd.get(ConstantBufferValid, 0), 1);
  EXPECT_EQ(qmd.get(ConstantBufferValid, 1), 0);
  EXPECT_EQ(qmd.get(ConstantBufferAddr, 0), arguments);
  EXPECT_EQ(qmd.get(ConstantBufferSize, 0), bank * 16);
  EXPECT_EQ(qmd.get(ConstantBufferInvalidate, 0), 1);
  EXPECT_EQ(qmd.get(CwdMembarType), 1);
  EXPECT_EQ(qmd.get(ShaderLocalMemoryHighSize), 0x900);
  EXPECT_EQ(qmd.get(MaxSmConfigSharedMemSize), 0x1a);
}

TEST(Qmd, OfAmpereIsTinygrads) {
  using enum QmdField;
  const Qmd first = qmd_at(QmdVersion::V3_0, "ga10x.kernargs", 0x200);
  expect_launch(first, {300, 2, 1}, {64, 1, 1}, kKernargs, 0x174);
  EXPECT_EQ(first.get(QmdMajorVersion), 3);
  EXPECT_EQ(first.get(SmGlobalCachingEnable), 1);
  EXPECT_EQ(first.get(RegisterCount), 12);
  EXPECT_EQ(first.get(SharedMemorySize), 0x500);
  EXPECT_EQ(first.get(SassVersion), 0x86);
  EXPECT_EQ(first.get(ProgramAddress) >> 21, 0x1000000000u >> 21);
  EXPECT_EQ(first.get(DependentQmd0Enable), 1);
  EXPECT_EQ(first.get(DependentQmd0Pointer) << 8, kKernargs + 0x600 + 0x200);
  const Qmd second = qmd_at(QmdVersion::V3_0, "ga10x.kernargs", 0x800);
  expect_launch(second, {17, 1, 5}, {32, 4, 2}, kKernargs + 0x600, 0x174);
  EXPECT_EQ(second.get(DependentQmd0Enable), 0);
  EXPECT_EQ(second.get(Release0Enable), 1);
  EXPECT_EQ(second.get(Release0Addr), 0x10fffff040);
  EXPECT_EQ(second.get(Release0Payload), 8);
  EXPECT_EQ(second.get(Release1Enable), 1);
  EXPECT_EQ(second.get(Release1Addr), 0x10fffff060);
  EXPECT_EQ(second.stray_bits(), (std::array<u32, kQmdMaxWords>{}));
}

TEST(Qmd, OfBlackwellIsTinygrads) {
  using enum QmdField;
  const Qmd first = qmd_at(QmdVersion::V5_0, "gb20x.kernargs", 0x400);
  expect_launch(first, {300, 2, 1}, {64, 1, 1}, kKernargs, 0x394);
  EXPECT_EQ(first.get(QmdMajorVersion), 5);
  EXPECT_EQ(first.get(QmdType), 2);
  EXPECT_EQ(first.get(RegisterCount), 14);
  EXPECT_EQ(first.get(SharedMemorySize), 0x900);
  EXPECT_EQ(first.get(ProgramAddress) >> 21, 0x1000000000u >> 21);
  const Qmd second = qmd_at(QmdVersion::V5_0, "gb20x.kernargs", 0xa00);
  expect_launch(second, {17, 1, 5}, {32, 4, 2}, kKernargs + 0x600, 0x394);
  EXPECT_EQ(second.get(Release0Addr), 0x10fffff040);
  EXPECT_EQ(second.get(Release0Payload), 8);
  EXPECT_EQ(second.stray_bits(), (std::array<u32, kQmdMaxWords>{}));
}

// The words of a QMD from the fields that tinygrad sets: written, not only read.
TEST(Qmd, WrittenIsWhatWasRead) {
  for (const auto& [version, name, byte] :
       {std::tuple(QmdVersion::V3_0, "ga10x.kernargs", 0x800),
        std::tuple(QmdVersion::V5_0, "gb20x.kernargs", 0xa00)}) {
    const Qmd read = qmd_at(version, name, static_cast<usize>(byte));
    Qmd written(version);
    for (usize i = 0; i < kQmdFields; ++i)
      for (u32 element = 0; element < Qmd::elements(static_cast<QmdField>(i)); ++element)
        if (Qmd::position(version, static_cast<QmdField>(i), element))
          written.set(static_cast<QmdField>(i), read.get(static_cast<QmdField>(i), element),
                      element);
    EXPECT_TRUE(std::ranges::equal(written.words(), read.words())) << name;
  }
}

TEST(Qmd, OfHopperStandsWhereTheHeaderSays) {
  using enum QmdField;
  Qmd qmd(QmdVersion::V4_0);
  qmd.set(QmdType, 2)                           // 25:23
      .set(ProgramAddress, 0x1234'5678'9a)      // 1247:1216, 1272:1248
      .set(GridHeight, 0xbeef)                  // 1071:1056
      .set(ConstantBufferAddr, 0x1000'0040, 2)  // 1567:1536 + 2 * 64, >> 6
      .set(ConstantBufferSize, 0x250, 2)        // 1599:1587 + 2 * 64, >> 4
      .set(SharedMemorySize, 0x8400)            // 601:584
      .set(Release1Enable, 1)                   // 320 + 16
      .set(Release1Payload64b, 1);              // 332 + 16
  std::array<u32, 96> expected{};
  expected[0] = 2u << 23;
  expected[10] = 1u << 16 | 1u << 28;
  expected[18] = 4u << 4 | 0x8400u << 8;  // with the major version, 583:580
  expected[33] = 0xbeef;
  expected[38] = 0x3456'789a, expected[39] = 0x12;
  expected[52] = 0x1000'0040 >> 6, expected[53] = 0x25u << 19;
  EXPECT_TRUE(std::ranges::equal(qmd.words(), expected)) << to_text(describe_qmd(qmd));
}

// Words that others found in QMDs of libcuda, in its process while a kernel was launched.
Qmd of_libcuda(QmdVersion version, std::initializer_list<std::pair<usize, u32>> found) {
  std::vector<u32> words(qmd_words(version));
  for (const auto& [at, word] : found) words[at] = word;
  return *Qmd::from_words(version, words);
}

// On an H100, release 610: code at 0x7598fb7b9d00, constant bank 0 at 0x7598fa280000.
// [maxime-peim/libcuda-research a34ffcc docs/compute_kernel_launch.md, "Verifying the bit math"]
TEST(Qmd, OfHopperIsLibcudas) {
  const Qmd qmd = of_libcuda(
      QmdVersion::V4_0,
      {{0x98 / 4, 0xfb7b9d00}, {0x9c / 4, 0x7598}, {0xc0 / 4, 0x63e8a000}, {0xc4 / 4, 0x1d6}});
  EXPECT_EQ(qmd.get(QmdField::ProgramAddress), 0x7598'fb7b'9d00u);
  EXPECT_EQ(qmd.get(QmdField::ConstantBufferAddr, 0), 0x7598'fa28'0000u);
}

// On an RTX 5070 Ti, release 590.48.01: a grid with a release and a dependent QMD, banks 0 and 1,
// 1600 bytes of local memory. [lfrati/paraketto 3a6a0ff docs/nocuda.md, section 6]
TEST(Qmd, OfBlackwellIsLibcudas) {
  using enum QmdField;
  const Qmd qmd = of_libcuda(QmdVersion::V5_0, {{4, 0x013f0000},
                                                {9, 0x00000003},
                                                {10, 0x00190000},
                                                {12, 0x02070100},
                                                {14, 0x2f5003a4},
                                                {19, 0x80610000},
                                                {20, 0x00000008},
                                                {22, 0x04000000},
                                                {37, 0x00640000},
                                                {58, 0x00000011}});
  EXPECT_EQ(qmd.get(QmdGroupId), 0x3f);
  EXPECT_EQ(qmd.get(QmdType), 2);
  EXPECT_EQ(qmd.get(Release0Enable), 1);
  EXPECT_EQ(qmd.get(Release0StructureSize), 1);
  EXPECT_EQ(qmd.get(DependentQmd0Enable), 1);
  EXPECT_EQ(qmd.get(DependentQmd0Prefetch), 1);
  EXPECT_EQ(qmd.get(SassVersion), 0xa4);
  EXPECT_EQ(qmd.get(SamplerIndex), 1);
  EXPECT_EQ(qmd.get(QmdMajorVersion), 5);
  EXPECT_EQ(qmd.get(CwdMembarType), 1);
  EXPECT_EQ(qmd.get(ShaderLocalMemoryHighSize), 1600);
  for (u32 bank = 0; bank < 8; ++bank)
    EXPECT_EQ(qmd.get(ConstantBufferValid, bank), bank < 2 ? 1 : 0) << bank;
  EXPECT_EQ(qmd.stray_bits(), (std::array<u32, kQmdMaxWords>{}));
}

TEST(Qmd, RefusesWhatDoesNotFit) {
  Qmd qmd(QmdVersion::V5_0);
  EXPECT_THROW(qmd.set(QmdField::GridHeight, 0x10000), Error);
  EXPECT_THROW(qmd.set(QmdField::SharedMemorySize, 0x81), Error);
  EXPECT_THROW(qmd.set(QmdField::SmGlobalCachingEnable, 1), Error);
  EXPECT_THROW(qmd.get(QmdField::ConstantBufferAddr, 8), Error);
  const std::vector<u32> few(64);
  EXPECT_EQ(Qmd::from_words(QmdVersion::V4_0, few).error().message,
            "a QMD V04_00 of 64 words, expected 96");
}

TEST(Qmd, StrayBitsAreSaid) {
  std::vector<u32> words(64);
  words[4] = 1u << 10;  // 138, reserved
  const Qmd qmd = *Qmd::from_words(QmdVersion::V3_0, words);
  EXPECT_EQ(to_text(describe_qmd(qmd)), "QMD [word 4 has stray bits 0x400]");
}

TEST(Qmd, VersionsOfClasses) {
  EXPECT_EQ(qmd_version(ClassId::AdaComputeA), QmdVersion::V3_0);
  EXPECT_EQ(qmd_version(ClassId::HopperComputeA), QmdVersion::V4_0);
  EXPECT_EQ(qmd_version(ClassId::BlackwellComputeB), QmdVersion::V5_0);
  EXPECT_EQ(qmd_version(ClassId::TuringComputeA), std::nullopt);
  EXPECT_EQ(qmd_version(ClassId::HopperDmaCopyA), std::nullopt);
}

}  // namespace
}  // namespace doorbell::nv::hw
