// What a WebGPU library can do to the driver: each failure is Doorbell's error at the call that
// made it, nothing hangs, and nothing is left behind.
#include <gtest/gtest.h>

#include "core/device/buffer.h"
#include "drivers/webgpu/device.h"
#include "drivers/webgpu/hw/abi/bindings.h"
#include "tests/drivers/webgpu_stand_in/library.h"

namespace doorbell::webgpu::testing {
namespace {

using core::Buffer;
using core::BufferView;
using core::Ref;

Result<std::unique_ptr<WebGpuDevice>> open(const char* library) {
  Options options;
  options.libraries = {library};
  core::DeviceSpec spec;
  spec.name = "WEBGPU";
  return open_device(std::move(spec), options);
}

void expect(const Error& error, ErrorKind kind, std::string_view part) {
  EXPECT_EQ(error.kind, kind) << error.message;
  EXPECT_NE(error.message.find(part), std::string::npos) << error.message;
}

// These come first: a library that opens stays for the process.
TEST(WebGpuLibraries, OlderOnesAndPartsAreRefused) {
  const auto older = open(STAND_IN_OLDER);
  ASSERT_FALSE(older);
  expect(older.error(), ErrorKind::Unsupported, "is wgpu-native 28, whose webgpu.h is not");
  const auto older_dawn = open(STAND_IN_OLDER_DAWN);
  ASSERT_FALSE(older_dawn);
  expect(older_dawn.error(), ErrorKind::Unsupported, "is an older Dawn");
  const auto part = open(STAND_IN_PARTIAL);
  ASSERT_FALSE(part);
  EXPECT_NE(part.error().message.find("wgpuQueueSubmit"), std::string::npos)
      << part.error().message;
}

TEST(WebGpuLibraries, WithoutAnInstanceAnAdapterOrADevice) {
  stand_in_fail("no instance");
  expect(open(STAND_IN).error(), ErrorKind::Os, "gives no instance of WebGPU");
  stand_in_fail("no adapter");
  expect(open(STAND_IN).error(), ErrorKind::NotFound, "has no adapter; it found none");
  stand_in_fail("null backend");
  expect(open(STAND_IN).error(), ErrorKind::NotFound, "has no adapter; it found none");
  stand_in_fail("no device");
  expect(open(STAND_IN).error(), ErrorKind::Os, "gives no device: no memory for a device");
  stand_in_fail("");
  EXPECT_EQ(stand_in_objects(), 0);
  EXPECT_TRUE(open(STAND_IN));
}

class WebGpuFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    stand_in_fail("");
    device_ = *open(STAND_IN);
  }
  void TearDown() override {
    program_.reset();
    x_ = {};
    y_ = {};
    device_.reset();
    EXPECT_EQ(stand_in_objects(), 0);
  }
  void load() {
    const hw::KernelAbi abi{{{4, true, 8}, {4, false, 8}}, 0};
    const std::string source = hw::header(abi) + std::string(hw::kBindings) +
                               hw::bindings(abi, hw::nothing_shared(2)) + std::string(hw::kKernel);
    core::Binary binary;
    binary.name = "kernel";
    binary.image = *device_->build("kernel", source);
    binary.param_count = 2;
    program_ = *device_->load(binary);
    x_ = *Buffer::allocate(*device_, 32);
    y_ = *Buffer::allocate(*device_, 32);
  }
  Result<void> launch() {
    const BufferView views[] = {{y_.get(), 0}, {x_.get(), 0}};
    return program_->launch(views, {});
  }
  Result<void> read() {
    u32 words[8];
    return y_->copy_out(words, 32);
  }
  // What a lost device does from then on.
  void expect_lost(std::string_view why) {
    const std::string part = "the device is lost: " + std::string(why);
    expect(Buffer::allocate(*device_, 4).error(), ErrorKind::DeviceLost, part);
    expect(device_->build("kernel", "").error(), ErrorKind::DeviceLost, part);
    expect(launch().error(), ErrorKind::DeviceLost, part);
    expect(read().error(), ErrorKind::DeviceLost, part);
    expect(device_->synchronize().error(), ErrorKind::DeviceLost, part);
    EXPECT_EQ(read().error().device, "WEBGPU");
  }

  std::unique_ptr<WebGpuDevice> device_;
  std::unique_ptr<core::Program> program_;
  Ref<Buffer> x_, y_;
};

TEST_F(WebGpuFaults, NothingFailsByItself) {
  load();
  const u32 words[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  ASSERT_TRUE(y_->copy_in(words, 32));
  ASSERT_TRUE(launch());
  u32 got[8];
  ASSERT_TRUE(y_->copy_out(got, 32));
  EXPECT_TRUE(std::equal(got, got + 8, words));
  EXPECT_TRUE(device_->synchronize());
}

TEST_F(WebGpuFaults, LostWhileABufferIsMade) {
  load();
  device_->allocator().flush();
  stand_in_fail("lost at a buffer");
  const auto made = Buffer::allocate(*device_, 1 << 20);
  ASSERT_FALSE(made);
  expect_lost("it fell off the bus");
}

TEST_F(WebGpuFaults, LostAtASubmission) {
  load();
  ASSERT_TRUE(launch());
  stand_in_fail("lost at a submission");
  expect(device_->synchronize().error(), ErrorKind::DeviceLost, "the device is lost: it hangs");
  expect_lost("it hangs");
}

TEST_F(WebGpuFaults, LostWhileMemoryIsRead) {
  load();
  stand_in_fail("lost at a map");
  expect(read().error(), ErrorKind::DeviceLost, "the device is lost: it hangs");
  expect_lost("it hangs");
}

TEST_F(WebGpuFaults, MemoryRunsOut) {
  load();
  stand_in_fail("no memory");
  expect(Buffer::allocate(*device_, 1 << 20).error(), ErrorKind::OutOfMemory, "4 bytes are left");
  stand_in_fail("no buffer");
  EXPECT_FALSE(Buffer::allocate(*device_, 1 << 20));
  // It goes on.
  stand_in_fail("");
  EXPECT_TRUE(Buffer::allocate(*device_, 1 << 20));
  EXPECT_TRUE(launch());
}

TEST_F(WebGpuFaults, ErrorsOfKernelsAreThoseOfTheirCalls) {
  load();
  stand_in_fail("bad module");
  expect(device_->build("kernel", "text").error(), ErrorKind::Compile, "line 1: what is this?");
  stand_in_fail("bad pipeline");
  expect(launch().error(), ErrorKind::Compile, "kernel kernel: ");
  stand_in_fail("compiler crash");
  expect(launch().error(), ErrorKind::Compile, "the driver's compiler crashed");
  stand_in_fail("bad bindings");
  expect(launch().error(), ErrorKind::Invalid, "binding 1 is too small");
  // None of them is left for a later call.
  stand_in_fail("");
  EXPECT_TRUE(launch());
  EXPECT_TRUE(device_->synchronize());
}

TEST_F(WebGpuFaults, ErrorsOfSubmittedWorkAreReportedOnce) {
  load();
  ASSERT_TRUE(launch());
  stand_in_fail("bad submission");
  expect(device_->synchronize().error(), ErrorKind::Invalid, "a buffer is destroyed");
  EXPECT_TRUE(device_->synchronize());
  stand_in_fail("");
  ASSERT_TRUE(launch());
  stand_in_fail("work fails");
  expect(device_->synchronize().error(), ErrorKind::DeviceLost, "the work failed");
  EXPECT_TRUE(device_->synchronize());
}

TEST_F(WebGpuFaults, AMapThatIsRefused) {
  load();
  stand_in_fail("bad map");
  expect(read().error(), ErrorKind::DeviceLost, "mapping 32 bytes: it is not to be mapped");
  stand_in_fail("");
  EXPECT_TRUE(read());
}

}  // namespace
}  // namespace doorbell::webgpu::testing
