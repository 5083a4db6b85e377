// Grids by their descriptors: what a launch does, and the rules of descriptors. The code is one
// instruction, EXIT, as nvdisasm reads it and NVRTC 13 writes it for sm_86.
#include "drivers/nv/hw/compute/methods.h"
#include "drivers/nv/hw/qmd/qmd.h"
#include "tests/emulator/nv/machine_client.h"

namespace doorbell::emu::nvgpu::testing {
namespace {

using enum hw::QmdField;

constexpr u8 kSubchannel = 1;
constexpr u32 kExit[] = {0x0000794d, 0x00000000, 0x03800000, 0x000fea00};
// Offsets in Client::data.
constexpr u64 kRelease = 0, kConstants = 0x1000, kQmd = 0x2000, kCode = 0x4000;

// A field that is wrong, and the rule that it breaks.
struct Mistake {
  const char* rule;
  hw::QmdField field;
  u64 value;
};

class QmdGridTest : public ::testing::TestWithParam<Mistake> {
 protected:
  QmdGridTest() {
    client_.make_channel({hw::ClassId::AmpereComputeB});
    client_.push(kSubchannel, hw::SetObject{hw::ClassId::AmpereComputeB});
    std::copy(std::begin(kExit), std::end(kExit), client_.data.words() + kCode / 4);
    qmd_.set(QmdMajorVersion, 3)
        .set(ProgramAddress, client_.data.address + kCode)
        .set(SassVersion, 0x86)
        .set(RegisterCount, 16)
        .set(GridWidth, 2)
        .set(GridHeight, 1)
        .set(GridDepth, 1)
        .set(CtaThreadDimension0, 32)
        .set(CtaThreadDimension1, 1)
        .set(CtaThreadDimension2, 1)
        .set(MinSmConfigSharedMemSize, 3)
        .set(TargetSmConfigSharedMemSize, 3)
        .set(MaxSmConfigSharedMemSize, 26)
        .set(ConstantBufferValid, 1)
        .set(ConstantBufferAddr, client_.data.address + kConstants)
        .set(ConstantBufferSize, 0x160)
        .set(Release0Enable, 1)
        .set(Release0StructureSize, 1)  // ONE_WORD
        .set(Release0Addr, client_.data.address + kRelease)
        .set(Release0Payload, 7);
  }
  void launch() {
    std::copy(qmd_.words().begin(), qmd_.words().end(), client_.data.words() + kQmd / 4);
    client_.push(kSubchannel, hw::SendPcasA{.qmd_address = client_.data.address + kQmd});
    client_.push(kSubchannel, hw::SendSignalingPcas2B{.action = hw::PcasAction::PrefetchSchedule});
    client_.submit();
  }
  u32 released() const { return client_.data.words()[kRelease / 4]; }

  Client client_;
  hw::Qmd qmd_{hw::QmdVersion::V3_0};
};

TEST_F(QmdGridTest, RunsAndReleases) {
  launch();
  EXPECT_EQ(released(), 7u);
  EXPECT_EQ(client_.reports(), "");
}

TEST_F(QmdGridTest, FourWordsHaveATime) {
  qmd_.set(Release0StructureSize, 0).set(Release0Payload64b, 1).set(Release0Payload, u64{3} << 32);
  launch();
  EXPECT_EQ(client_.data.longs()[0], u64{3} << 32);
  EXPECT_NE(client_.data.longs()[1], 0u);
  EXPECT_EQ(client_.reports(), "");
}

TEST_F(QmdGridTest, ADependentDescriptorFollows) {
  hw::Qmd second = qmd_;
  second.set(Release0Payload, 9);
  constexpr u64 kSecond = kQmd + 0x400;
  std::copy(second.words().begin(), second.words().end(), client_.data.words() + kSecond / 4);
  qmd_.set(Release0Addr, client_.data.address + kRelease + 16)
      .set(DependentQmd0Enable, 1)
      .set(DependentQmd0Action, 1)
      .set(DependentQmd0Pointer, (client_.data.address + kSecond) >> 8);
  launch();
  EXPECT_EQ(released(), 9u);
  EXPECT_EQ(client_.data.words()[4], 7u);
  EXPECT_EQ(client_.reports(), "");
}

// `BRA` to the instruction before the first one, as NVRTC 13 writes it for sm_86.
TEST_F(QmdGridTest, CodeLiesBeforeItsEntryToo) {
  constexpr u32 kBack[] = {0x00007947, 0xffffffe0, 0x0383ffff, 0x000fc000};
  u32* const entry = client_.data.words() + kCode / 4;
  std::copy(std::begin(kExit), std::end(kExit), entry - 4);
  std::copy(std::begin(kBack), std::end(kBack), entry);
  launch();
  EXPECT_EQ(released(), 7u);
  EXPECT_EQ(client_.reports(), "");
}

TEST_P(QmdGridTest, AMistakeBreaksItsRule) {
  const Mistake& mistake = GetParam();
  qmd_.set(mistake.field, mistake.value);
  launch();
  EXPECT_EQ(client_.count(mistake.rule), 1u) << hw::Qmd::name(mistake.field) << "\n"
                                             << client_.reports();
}

INSTANTIATE_TEST_SUITE_P(
    Fields, QmdGridTest,
    ::testing::Values(
        Mistake{"NV-QMD-001", QmdMajorVersion, 4}, Mistake{"NV-QMD-001", IsQueue, 1},
        Mistake{"NV-QMD-002", HwOnlyInnerPut, 1}, Mistake{"NV-QMD-002", DependenceCounter, 1},
        Mistake{"NV-QMD-002", CwdMembarType, 2}, Mistake{"NV-QMD-003", GridHeight, 0},
        Mistake{"NV-QMD-003", CtaThreadDimension1, 64},
        Mistake{"NV-QMD-004", SharedMemorySize, 0x1010},
        Mistake{"NV-QMD-004", SharedMemorySize, 0x4000},
        Mistake{"NV-QMD-004", MaxSmConfigSharedMemSize, 27},
        Mistake{"NV-QMD-004", TargetSmConfigSharedMemSize, 4},
        Mistake{"NV-QMD-005", ConstantBufferAddr, 0x40}, Mistake{"NV-QMD-006", RegisterCount, 0},
        Mistake{"NV-QMD-007", ShaderLocalMemoryHighSize, 0x40},
        Mistake{"NV-QMD-008", SassVersion, 0x89}, Mistake{"NV-QMD-008", ProgramPrefetchSize, 1},
        Mistake{"NV-QMD-009", Release0StructureSize, 3}, Mistake{"NV-QMD-010", Release1Payload, 1},
        Mistake{"NV-QMD-010", DependentQmd0Pointer, 1}, Mistake{"NV-QMD-010", CircularQueueSize, 1},
        Mistake{"NV-QMD-011", OccupancyMaxWarp, 1}, Mistake{"NV-QMD-001", GridWidthResume, 1},
        Mistake{"NV-QMD-001", SmDisableMask, 1}));

// Buffers are turned on one by one.
TEST_F(QmdGridTest, ABufferThatIsOffHasNoAddress) {
  qmd_.set(ConstantBufferAddr, client_.data.address, 3);
  launch();
  EXPECT_EQ(client_.count("NV-QMD-010"), 1u) << client_.reports();
}

TEST_F(QmdGridTest, CodeOfTheProgramIsPrefetched) {
  const u64 address = client_.data.address + kCode;
  qmd_.set(ProgramPrefetchSize, 1)
      .set(ProgramPrefetchAddrLowerShifted, address >> 8 & ~u32{0})
      .set(ProgramPrefetchAddrUpperShifted, address >> 40);
  launch();
  EXPECT_EQ(client_.reports(), "");
}

// What is late may still be in an old cache.
TEST_F(QmdGridTest, CodeThatChangedNeedsAnInvalidation) {
  launch();
  client_.data.words()[kCode / 4 + 3] = 0x000fca00;  // other scheduling bits of EXIT
  launch();
  EXPECT_EQ(client_.count("NV-CACHE-001"), 1u) << client_.reports();
  client_.data.words()[kCode / 4 + 3] = 0x000fea00;
  client_.push(kSubchannel, hw::InvalidateShaderCachesNoWfi{.instruction = true});
  launch();
  EXPECT_EQ(client_.count("NV-CACHE-001"), 1u) << client_.reports();
}

TEST_F(QmdGridTest, ConstantsThatChangedNeedAnInvalidation) {
  launch();
  client_.data.words()[kConstants / 4] = 1;
  launch();
  EXPECT_EQ(client_.count("NV-CACHE-002"), 1u) << client_.reports();
  client_.data.words()[kConstants / 4] = 2;
  qmd_.set(ConstantBufferInvalidate, 1);
  launch();
  EXPECT_EQ(client_.count("NV-CACHE-002"), 1u) << client_.reports();
}

}  // namespace
}  // namespace doorbell::emu::nvgpu::testing
