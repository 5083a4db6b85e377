// The driver on the emulated Metal, every rule judged: kernels written by hand, copies of bytes,
// memory of the caller's, errors, the trace, and no reference that is left.
#include "drivers/metal/device.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>

#include "tests/drivers/metal_emulated/metal_device.h"

namespace doorbell::metal::testing {
namespace {

using core::Binary;
using core::Buffer;
using core::BufferView;
using core::Ref;

TEST_F(MetalTest, SaysWhatItIs) {
  EXPECT_EQ(device_->description(), "emulated Apple GPU, unified memory, bfloat");
  EXPECT_FALSE(open({.bfloat = false})->info().bfloat);
}

TEST_F(MetalTest, LaunchesRunInOrderWithinOneBuffer) {
  const std::unique_ptr<core::Program> scale = load_scale(*device_);
  const Ref<Buffer> memory = buffer(std::vector<u32>(16, 2));
  ASSERT_TRUE(launch(*scale, {memory.get(), 0}, {memory.get(), 32}, 5));
  ASSERT_TRUE(launch(*scale, {memory.get(), 32}, {memory.get(), 0}, 10));
  EXPECT_EQ(read<u32>(*memory), (std::vector<u32>{10, 11, 12, 13, 14, 15, 16, 17, 100, 111, 122,
                                                  133, 144, 155, 166, 177}));
}

TEST_F(MetalTest, ManyLaunchesLeaveTheQueueRoom) {
  const std::unique_ptr<core::Program> scale = load_scale(*device_);
  const Ref<Buffer> memory = buffer(std::vector<u32>(16, 0));
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(launch(*scale, {memory.get(), 0}, {memory.get(), 32}, 1));
    if (i % 4 == 0) device_->submit_launches();
  }
  ASSERT_TRUE(device_->finish());
  EXPECT_EQ(read<u32>(*memory)[7], 7u);
}

TEST_F(MetalTest, BytesAreCopiedWhereverTheyBegin) {
  std::vector<u8> bytes(64);
  std::iota(bytes.begin(), bytes.end(), u8{0});
  const Ref<Buffer> from = buffer(bytes), to = buffer(std::vector<u8>(64, 255));
  core::Allocator& allocator = device_->allocator();
  ASSERT_TRUE(allocator.copy(to->memory(), 4, from->memory(), 8, 16));
  ASSERT_TRUE(allocator.copy(to->memory(), 33, from->memory(), 1, 3));
  ASSERT_TRUE(allocator.copy(to->memory(), 8, to->memory(), 4, 8));  // they overlap
  std::vector<u8> expected(64, 255);
  for (usize i = 0; i < 16; ++i) expected[4 + i] = static_cast<u8>(8 + i);
  for (usize i = 0; i < 3; ++i) expected[33 + i] = static_cast<u8>(1 + i);
  for (usize i = 0; i < 8; ++i) expected[8 + i] = static_cast<u8>(8 + i);
  EXPECT_EQ(read<u8>(*to), expected);
}

// A buffer of the client's, and pages of the host's, are used where they are.
TEST_F(MetalTest, MemoryOfTheCallersIsUsedInPlace) {
  const Pool pool(*api_);
  const Owned all(*api_, api_->MTLCopyAllDevices());
  const Id gpu = api_->send<Id>(all.get(), api_->sel.object_at, u64{0});
  const Owned theirs(*api_, api_->send<Id>(gpu, api_->sel.new_buffer, u64{64}, kStorageShared));
  auto* words = api_->send<u32*>(theirs.get(), api_->sel.contents);
  std::fill_n(words, 16, 3u);
  auto* pages = static_cast<u32*>(std::aligned_alloc(1 << 16, 1 << 16));
  {
    Result<core::Allocation> wrapped = device_->foreign_memory(theirs.get(), 64);
    ASSERT_TRUE(wrapped) << wrapped.error().message;
    const Ref<Buffer> from = Buffer::wrap(*device_, *wrapped, nullptr);
    wrapped = device_->foreign_memory(pages, 1 << 16);
    ASSERT_TRUE(wrapped) << wrapped.error().message;
    const Ref<Buffer> to = Buffer::wrap(*device_, *wrapped, nullptr);
    const std::unique_ptr<core::Program> scale = load_scale(*device_);
    ASSERT_TRUE(launch(*scale, {to.get(), 4}, {from.get(), 0}, 7));
    ASSERT_TRUE(device_->finish());
    EXPECT_EQ(pages[1], 21u);
    EXPECT_EQ(pages[8], 28u);
    EXPECT_EQ(device_->foreign_memory(theirs.get(), 65).error().kind, ErrorKind::Invalid);
    alignas(64) u32 neither[16] = {};
    const Error refused = device_->foreign_memory(neither, 64).error();
    EXPECT_EQ(refused.kind, ErrorKind::Unsupported);
    EXPECT_NE(refused.message.find("METAL"), std::string::npos) << refused.message;
  }
  device_.reset();
  std::free(pages);
}

TEST_F(MetalTest, ErrorsSayWhy) {
  const Error error = device_->build("scale", "kernel void scale() { nothing; }").error();
  EXPECT_EQ(error.kind, ErrorKind::Compile);
  EXPECT_NE(error.message.find("nothing"), std::string::npos) << error.message;
  Binary binary;
  binary.name = "scale";
  binary.image = *device_->build("scale", kScale);
  binary.param_count = 2;
  binary.variable_count = 1;
  binary.group_items[0] = 8;
  EXPECT_EQ(device_->load(binary).error().message,
            "kernel scale has groups of 8 x 1 x 1 items, METAL runs at most 4 of it (NOOPT=1 makes "
            "smaller ones)");
  EXPECT_EQ(device_->allocator().allocate(i64{1} << 50).error().kind, ErrorKind::OutOfMemory);
}

TEST_F(MetalTest, KernelsAreInTheTrace) {
  hcq::Trace trace;
  {
    const std::unique_ptr<MetalDevice> traced = open({.trace = &trace});
    const std::unique_ptr<core::Program> scale = load_scale(*traced);
    const Ref<Buffer> memory = *Buffer::allocate(*traced, 64);
    ASSERT_TRUE(launch(*scale, {memory.get(), 0}, {memory.get(), 32}, 1));
    ASSERT_TRUE(launch(*scale, {memory.get(), 0}, {memory.get(), 32}, 2));
    ASSERT_TRUE(traced->finish());
  }
  const std::vector<hcq::Trace::Span> spans = trace.spans();
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].name, "scale");
  EXPECT_GE(spans[0].end_ns, spans[0].begin_ns);
  EXPECT_GE(spans[1].begin_ns, spans[0].end_ns);
}

}  // namespace
}  // namespace doorbell::metal::testing
