// What grids, copies and the host engine of one channel access without an order, by methods:
// NV-RACE-003 finds each, no other rule does, and the twin that waits is silent. Those of drivers,
// of several channels and GPUs are in tests/drivers/nv_emulated.
#include <fmt/format.h>

#include <functional>

#include "drivers/nv/hw/compute/methods.h"
#include "drivers/nv/hw/copy/methods.h"
#include "drivers/nv/hw/qmd/qmd.h"
#include "tests/emulator/nv/machine_client.h"

namespace doorbell::emu::nvgpu::testing {
namespace {

using enum hw::QmdField;

constexpr u8 kCompute = 1, kCopy = 4;
// EXIT. [nvdisasm, of NVRTC's code for sm_86]
constexpr u32 kExit[] = {0x0000794d, 0x00000000, 0x03800000, 0x000fea00};
// Offsets in Client::data.
constexpr u64 kSignal = 0, kConstants = 0x1000, kQmd = 0x2000, kCode = 0x4000, kBytes = 0x8000;

class NvAgentRacesTest : public ::testing::Test {
 protected:
  void start(bool judged) {
    client_ = std::make_unique<Client>(
        ClientOptions{.checks = judged ? "error,NV-RACE-003=warn" : "error"});
    client_->make_channel({hw::ClassId::AmpereComputeB, hw::ClassId::AmpereDmaCopyB});
    client_->push(kCompute, hw::SetObject{hw::ClassId::AmpereComputeB});
    client_->push(kCopy, hw::SetObject{hw::ClassId::AmpereDmaCopyB});
    std::copy(std::begin(kExit), std::end(kExit), client_->data.words() + kCode / 4);
  }
  u64 at(u64 offset) const { return client_->data.address + offset; }

  // A grid that reads its constants, at kConstants, and may release kSignal.
  void grid(bool releases = false) {
    hw::Qmd qmd{hw::QmdVersion::V3_0};
    qmd.set(QmdMajorVersion, 3)
        .set(ProgramAddress, at(kCode))
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
        .set(ConstantBufferInvalidate, 1)
        .set(ConstantBufferAddr, at(kConstants))
        .set(ConstantBufferSize, 0x160);
    if (releases)
      qmd.set(Release0Enable, 1)
          .set(Release0StructureSize, 1)  // ONE_WORD
          .set(Release0Addr, at(kSignal))
          .set(Release0Payload, 1);
    std::copy(qmd.words().begin(), qmd.words().end(), client_->data.words() + kQmd / 4);
    client_->push(kCompute, hw::SendPcasA{.qmd_address = at(kQmd)});
    client_->push(kCompute, hw::SendSignalingPcas2B{.action = hw::PcasAction::PrefetchSchedule});
  }
  void copy(u64 to, u64 from, hw::CopyTransfer transfer = hw::CopyTransfer::NonPipelined) {
    client_->push(kCopy, hw::CopyExtent{.in_upper = static_cast<u32>(at(from) >> 32),
                                        .in_lower = static_cast<u32>(at(from)),
                                        .out_upper = static_cast<u32>(at(to) >> 32),
                                        .out_lower = static_cast<u32>(at(to)),
                                        .line_length = 64});
    client_->push(kCopy, hw::CopyLaunch{.transfer = transfer, .flush_enable = true});
  }
  void release(u64 to, bool waits) {
    client_->push(0, hw::Semaphore{.addr = at(to),
                                   .payload = 1,
                                   .operation = hw::SemOperation::Release,
                                   .release_wfi = waits});
  }
  void acquire() {
    client_->push(
        0, hw::Semaphore{
               .addr = at(kSignal), .payload = 1, .operation = hw::SemOperation::AcqCircGeq});
  }

  // `work(waits)` races only if it does not wait.
  void expect_race_unless_it_waits(const std::function<void(bool)>& work) {
    for (const bool judged : {false, true})
      for (const bool waits : {false, true}) {
        SCOPED_TRACE(fmt::format("judged {}, waits {}", judged, waits));
        start(judged);
        work(waits);
        client_->submit();
        client_->machine().run_until_idle();
        const u64 found = client_->count("NV-RACE-003");
        EXPECT_EQ(found != 0, judged && !waits) << client_->reports();
        if (found == 0) {
          EXPECT_EQ(client_->reports(), "");
        }
      }
  }

  std::unique_ptr<Client> client_;
};

TEST_F(NvAgentRacesTest, ACopyOfWhatAGridReads) {
  expect_race_unless_it_waits([&](bool waits) {
    grid();
    if (waits) client_->push(kCompute, hw::WaitForIdle{});
    copy(kConstants, kBytes);
  });
}

TEST_F(NvAgentRacesTest, ASemaphoreOfAGridOrdersWhoWaitsForIt) {
  expect_race_unless_it_waits([&](bool waits) {
    grid(true);
    if (waits) acquire();
    copy(kConstants, kBytes);
  });
}

TEST_F(NvAgentRacesTest, PipelinedCopiesOverlap) {
  expect_race_unless_it_waits([&](bool waits) {
    copy(kBytes, kBytes + 0x1000);
    copy(kBytes + 0x2000, kBytes,
         waits ? hw::CopyTransfer::NonPipelined : hw::CopyTransfer::Pipelined);
  });
}

TEST_F(NvAgentRacesTest, TheHostEngineDoesNotWaitForCopies) {
  expect_race_unless_it_waits([&](bool waits) {
    copy(kBytes, kBytes + 0x1000);
    release(kBytes, waits);
  });
}

// A doorbell is behind what the host may have seen: a value that was released, not a copy that is
// only over.
TEST_F(NvAgentRacesTest, ADoorbellIsBehindWhatTheHostMayHaveSeen) {
  expect_race_unless_it_waits([&](bool waits) {
    grid(waits);
    client_->submit();
    client_->machine().run_until_idle();
    copy(kConstants, kBytes);
  });
}

TEST_F(NvAgentRacesTest, AReportNamesBoth) {
  start(true);
  grid();
  copy(kConstants, kBytes);
  client_->submit();
  client_->machine().run_until_idle();
  const std::string reports = client_->reports();
  EXPECT_NE(reports.find("a copy of GPU 0, channel 1, entry 1 writes memory at"), std::string::npos)
      << reports;
  EXPECT_NE(reports.find("which the grid of 0x"), std::string::npos) << reports;
  EXPECT_NE(reports.find("no packet between them waits for the first"), std::string::npos)
      << reports;
}

}  // namespace
}  // namespace doorbell::emu::nvgpu::testing
