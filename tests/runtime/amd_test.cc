// Emulated AMD GPUs as the environment asks for them.
#include "runtime/devices/amd.h"

#include <gtest/gtest.h>

#include "core/device/buffer.h"
#include "drivers/amd/device.h"
#include "emulator/amd/machine.h"

namespace doorbell::runtime {
namespace {

struct Opened {
  i64 units = 0;
  std::string error;
};

// Of the device that DEV=EMUKFD+AMD:LLVM opens, or another interface.
Opened open(SettingValues settings, const char* iface = "EMUKFD") {
  core::Config config;
  config.device_settings = std::move(settings);
  AmdBackend backend(config);
  core::DeviceSpec spec;
  spec.iface = iface;
  spec.name = "AMD";
  Result<std::unique_ptr<core::Device>> device = backend.open(spec);
  if (!device) return {.error = device.error().message};
  return {.units = static_cast<i64>(static_cast<amd::AmdDevice&>(**device).compute_units())};
}

// What plans are made for: 304 compute units of an MI300X, 38 of each of its 8 XCCs, 80 of a
// Navi 21, as the kernel's topology of such cards has them.
TEST(AmdBackend, CountsTheComputeUnitsOfWhatIsOpened) {
  EXPECT_EQ(open({{"EMU_GPU", "gfx942"}}).units, 304);
  EXPECT_EQ(open({{"EMU_GPU", "gfx942"}, {"AMD_AQL", "1"}}).units, 304);
  EXPECT_EQ(open({{"EMU_GPU", "gfx942:CPX"}}).units, 38);
  EXPECT_EQ(open({{"EMU_GPU", "gfx942:QPX"}}).units, 76);
  EXPECT_EQ(open({{"EMU_GPU", "gfx1030"}}).units, 80);
}

TEST(AmdBackend, StartsGpusThatNoKernelDriverHas) {
  EXPECT_EQ(open({{"EMU_GPU", "gfx1100"}}, "EMUPCI").units, 96);
  EXPECT_EQ(open({{"EMU_GPU", "gfx1201"}}, "EMUUSB").units, 64);
  EXPECT_NE(open({{"EMU_GPU", "gfx950"}}, "EMUPCI").error.find("gfx1100 and gfx1201 are emulated"),
            std::string::npos);
}

TEST(AmdBackend, RefusesPm4OnAWholePackage) {
  EXPECT_TRUE(open({{"EMU_GPU", "gfx942"}, {"AMD_AQL", "0"}})
                  .error.starts_with("GPU 0 has 8 XCCs, and a PM4 queue uses only one"));
  EXPECT_EQ(open({{"EMU_GPU", "gfx942:CPX"}, {"AMD_AQL", "0"}}).units, 38);
}

TEST(AmdBackend, NamesMalformedSettings) {
  EXPECT_EQ(open({{"EMU_HANG_AFTER", "soon"}}).error,
            "EMU_HANG_AFTER=soon: 'soon' is not a number");
  EXPECT_EQ(open({{"EMU_SEED", "7x"}}).error, "EMU_SEED=7x: '7x' is not a number");
  EXPECT_EQ(open({{"AMD_AQL", "2"}}).error, "AMD_AQL=2: '2' is neither 0 nor 1");
}

// The emulated kernel keeps what a process has, as the real one does, and refuses it to a second
// opening of its nodes.
TEST(AmdBackend, OpensTheKernelsDoorAgain) {
  // Kept as long as the process.
  static emu::amdgpu::Machine& machine =
      *emu::amdgpu::Machine::create({.gpus = {"gfx1100"}})->release();
  static os::Files& kernel = *machine.files(os::host_files()).release();
  core::DeviceSpec spec;
  spec.iface = "KFD";
  spec.name = "AMD";
  for (int turn = 0; turn < 3; ++turn) {
    AmdBackend backend(core::Config{}, kernel);
    Result<std::unique_ptr<core::Device>> device = backend.open(spec);
    ASSERT_TRUE(device) << turn << ": " << device.error().message;
    core::Ref<core::Buffer> buffer = *core::Buffer::allocate(**device, 4);
    const int in = 100 + turn;
    int out = 0;
    ASSERT_TRUE(buffer->copy_in(&in, 4));
    ASSERT_TRUE(buffer->copy_out(&out, 4));
    EXPECT_EQ(out, in);
  }
  EXPECT_EQ(machine.checks().errors(), 0u);
}

}  // namespace
}  // namespace doorbell::runtime
