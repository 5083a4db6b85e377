// The NULL device has sizes, but neither contents nor launches that do anything.
#include "drivers/null/device.h"

#include <gtest/gtest.h>

#include "core/device/buffer.h"

namespace doorbell::null {
namespace {

core::DeviceSpec null_spec() {
  core::DeviceSpec spec;
  spec.name = "NULL";
  return spec;
}

TEST(NullDevice, CountsMemoryItDoesNotHave) {
  NullDevice device(null_spec());
  {
    core::Ref<core::Buffer> buffer = *core::Buffer::allocate(device, i64{1} << 50);
    EXPECT_EQ(buffer->host(), nullptr);
    EXPECT_EQ(device.allocator().stats().in_use, i64{1} << 50);
  }
  EXPECT_EQ(device.allocator().stats().in_use, 0);
  EXPECT_EQ(device.allocator().stats().peak, i64{1} << 50);
}

TEST(NullDevice, RefusesToBeRead) {
  NullDevice device(null_spec());
  core::Ref<core::Buffer> buffer = *core::Buffer::allocate(device, 8);
  u64 word = 7;
  EXPECT_TRUE(buffer->copy_in(&word, 8));
  auto read = buffer->copy_out(&word, 8);
  ASSERT_FALSE(read);
  EXPECT_EQ(
      read.error().message,
      "8 bytes cannot be read from NULL: its kernels never run, so its memory has no contents");
  EXPECT_EQ(read.error().device, "NULL");
  EXPECT_EQ(word, 7u);
}

TEST(NullDevice, LaunchesNothing) {
  NullDevice device(null_spec());
  EXPECT_FALSE(device.runs());
  core::Binary binary;
  binary.name = "k";
  binary.param_count = 1;
  auto program = *device.load(binary);
  core::Ref<core::Buffer> buffer = *core::Buffer::allocate(device, 8);
  const core::BufferView view{buffer.get(), 0};
  EXPECT_TRUE(program->launch({&view, 1}, {}));
  EXPECT_THROW((void)program->launch({}, {}), InternalError);
}

}  // namespace
}  // namespace doorbell::null
