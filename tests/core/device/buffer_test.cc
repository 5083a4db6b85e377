// Ownership, bounds and copies of Buffers.
#include "core/device/buffer.h"

#include <gtest/gtest.h>

#include "tests/core/device/fake_device.h"

namespace doorbell::core {
namespace {

DeviceSpec named(const char* name) {
  DeviceSpec spec;
  spec.name = name;
  return spec;
}

TEST(Buffer, ReturnsItsMemoryWhenTheLastOwnerGoes) {
  FakeMemory memory;
  FakeDevice device(named("FAKE"), &memory);
  Ref<Buffer> buffer = *Buffer::allocate(device, 64);
  Ref<Buffer> other = buffer;
  EXPECT_EQ(buffer->ref_count(), 2u);
  buffer = {};
  EXPECT_EQ(device.allocator().stats().in_use, 64);
  other = {};
  EXPECT_EQ(device.allocator().stats().in_use, 0);
}

TEST(Buffer, WrappedMemoryIsReleasedByItsOwner) {
  FakeMemory memory;
  FakeDevice device(named("FAKE"), &memory);
  int values[4] = {1, 2, 3, 4}, released = 0;
  {
    Ref<Buffer> buffer =
        Buffer::wrap(device, {.host = values, .opaque = values, .bytes = 16}, [&] { ++released; });
    int second;
    ASSERT_TRUE(buffer->copy_out(&second, 4, 4));
    EXPECT_EQ(second, 2);
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
  EXPECT_EQ(memory.releases, 0);
}

TEST(Buffer, RefusesToCopyPastItsEnd) {
  FakeMemory memory;
  FakeDevice device(named("FAKE"), &memory);
  Ref<Buffer> buffer = *Buffer::allocate(device, 8);
  u64 word = 0;
  EXPECT_TRUE(buffer->copy_in(&word, 8, 0));
  EXPECT_EQ(buffer->copy_in(&word, 8, 1).error().message,
            "8 bytes at offset 1 of a buffer of 8 bytes");
  EXPECT_FALSE(buffer->copy_out(&word, 4, INT64_MAX - 1));
  EXPECT_FALSE(buffer->copy_out(&word, 4, -1));
}

TEST(Buffer, CopiesBetweenDevices) {
  FakeMemory memory;
  FakeDevice visible(named("A"), &memory), hidden(named("B"), &memory, false),
      other(named("C"), &memory, false);
  const u64 words[2] = {0x1122334455667788, 0x99aabbccddeeff00};
  Ref<Buffer> a = *Buffer::allocate(visible, 16), b = *Buffer::allocate(hidden, 16),
              c = *Buffer::allocate(other, 16), d = *Buffer::allocate(visible, 16);
  ASSERT_TRUE(a->copy_in(words, 16));
  ASSERT_TRUE(copy_between(*b, 0, *a, 0, 16));  // to hidden memory
  ASSERT_TRUE(copy_between(*c, 8, *b, 0, 8));   // hidden to hidden, through the host
  ASSERT_TRUE(copy_between(*c, 0, *c, 8, 8));   // within one device
  ASSERT_TRUE(copy_between(*d, 0, *c, 0, 16));  // to visible memory
  u64 got[2] = {};
  ASSERT_TRUE(d->copy_out(got, 16));
  EXPECT_EQ(got[0], 0x1122334455667788u);
  EXPECT_EQ(got[1], 0x1122334455667788u);
  EXPECT_FALSE(copy_between(*d, 8, *c, 0, 16));
}

}  // namespace
}  // namespace doorbell::core
