// WebGPU devices with kernels written by hand: programs, arguments in one buffer, copies of bytes,
// errors, the trace. The library and the software adapter are those that the build found; a machine
// without them skips.
#include "drivers/webgpu/device.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>

#include "core/device/buffer.h"
#include "drivers/webgpu/hw/abi/bindings.h"

namespace doorbell::webgpu::testing {
namespace {

using core::Binary;
using core::Buffer;
using core::BufferView;
using core::Ref;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Options options_here() {
  Options options;
  if (const std::string library = variable("WEBGPU_LIBRARY"); !library.empty())
    options.libraries.push_back(library);
  options.libraries.push_back("libwgpu_native.so");
  options.adapter = variable("WEBGPU_ADAPTER");
  return options;
}

core::DeviceSpec spec_here() {
  core::DeviceSpec spec;
  spec.name = "WEBGPU";
  return spec;
}

// y[i] = x[i] * n + i, in groups of four.
std::string scale_source() {
  const hw::KernelAbi abi{{{4, true, 8}, {4, false, 8}}, 1};
  return hw::header(abi) + std::string(hw::kBindings) + hw::bindings(abi, hw::nothing_shared(2)) +
         std::string(hw::kKernel) +
         "@compute @workgroup_size(4)\n"
         "fn scale(@builtin(global_invocation_id) id: vec3u) {\n"
         "  let i = id.x;\n  store0(i, load1(i) * " +
         hw::argument(abi.variable_word(0)) + " + i);\n}\n";
}

class WebGpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<WebGpuDevice>> opened = open_device(spec_here(), options_here());
    if (!opened) GTEST_SKIP() << opened.error().message;
    device_ = std::move(*opened);
  }
  Binary binary(std::vector<u8> image) {
    Binary binary;
    binary.name = "scale";
    binary.image = std::move(image);
    binary.param_count = 2;
    binary.variable_count = 1;
    binary.grid_groups[0] = 2;
    binary.group_items[0] = 4;
    return binary;
  }
  template <class T>
  Ref<Buffer> buffer(const std::vector<T>& values) {
    const i64 bytes = static_cast<i64>(values.size() * sizeof(T));
    Ref<Buffer> made = *Buffer::allocate(*device_, bytes);
    EXPECT_TRUE(made->copy_in(values.data(), bytes));
    return made;
  }
  template <class T>
  std::vector<T> read(const Buffer& buffer) {
    std::vector<T> values(static_cast<usize>(buffer.bytes()) / sizeof(T));
    EXPECT_TRUE(buffer.copy_out(values.data(), buffer.bytes()));
    return values;
  }
  std::unique_ptr<core::Program> program() {
    return *device_->load(binary(*device_->build("scale", scale_source())));
  }

  std::unique_ptr<WebGpuDevice> device_;
};

TEST(WebGpuLibrary, WhereToGetOneIsSaid) {
  Options options;
  options.libraries = {"libno_such_webgpu.so"};
  const auto opened = open_device(spec_here(), options);
  if (opened) GTEST_SKIP() << "a library is open in this process";
  EXPECT_EQ(opened.error().kind, ErrorKind::NotFound);
  EXPECT_NE(opened.error().message.find("pip install wgpu"), std::string::npos)
      << opened.error().message;
}

TEST_F(WebGpuTest, SoftwareIsUsedOnlyIfNamed) {
  if (!device_->info().is_software) GTEST_SKIP() << "the adapter here is a GPU";
  Options options = options_here();
  options.adapter.clear();
  const auto opened = open_device(spec_here(), options);
  if (opened) {
    EXPECT_FALSE((*opened)->info().is_software);
    return;
  }
  EXPECT_EQ(opened.error().kind, ErrorKind::NotFound);
  EXPECT_NE(opened.error().message.find(device_->info().name), std::string::npos)
      << opened.error().message;
}

TEST_F(WebGpuTest, BuildErrorsCarryTheCompilersWords) {
  const auto image = device_->build("broken", "fn broken() { nonsense(); }");
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().kind, ErrorKind::Compile);
  EXPECT_EQ(image.error().device, "WEBGPU");
  EXPECT_NE(image.error().message.find("kernel broken"), std::string::npos);
  EXPECT_NE(image.error().message.find("nonsense"), std::string::npos);
  // The device goes on.
  EXPECT_TRUE(device_->build("scale", scale_source()));
}

TEST_F(WebGpuTest, DamagedImagesAreRefused) {
  std::vector<u8> image = *device_->build("scale", scale_source());
  image.back() ^= 1;
  EXPECT_EQ(device_->load(binary(image)).error().kind, ErrorKind::Corrupt);
  EXPECT_EQ(device_->load(binary({1, 2})).error().kind, ErrorKind::Corrupt);
  const auto without = device_->load(binary(*device_->build("f", "fn f() {}")));
  EXPECT_EQ(without.error().kind, ErrorKind::Corrupt);
}

TEST_F(WebGpuTest, KernelsRun) {
  const auto scale = program();
  const Ref<Buffer> x = buffer<i32>({1, 2, 3, 4, 5, 6, 7, 8}),
                    y = buffer<i32>({0, 0, 0, 0, 0, 0, 0, 0});
  const BufferView views[] = {{y.get(), 0}, {x.get(), 0}};
  for (i64 n : {10, -3, 10}) {
    ASSERT_TRUE(scale->launch(views, {&n, 1}));
    std::vector<i32> expected;
    for (i32 i = 0; i < 8; ++i) expected.push_back((i + 1) * static_cast<i32>(n) + i);
    EXPECT_EQ(read<i32>(*y), expected);
  }
  EXPECT_TRUE(device_->synchronize());
}

// WebGPU refuses a buffer that one binding reads and another writes; and offsets of four bytes.
TEST_F(WebGpuTest, ArgumentsMayLieInOneBuffer) {
  const auto scale = program();
  std::vector<i32> values(20, -1);
  std::iota(values.begin(), values.begin() + 9, 0);
  const Ref<Buffer> both = buffer(values);
  const BufferView views[] = {{both.get(), 11 * 4}, {both.get(), 1 * 4}};
  const i64 n = 2;
  ASSERT_TRUE(scale->launch(views, {&n, 1}));
  for (i32 i = 0; i < 8; ++i) values[static_cast<usize>(11 + i)] = (i + 1) * 2 + i;
  EXPECT_EQ(read<i32>(*both), values);
  EXPECT_TRUE(device_->synchronize());
}

TEST_F(WebGpuTest, CopiesOfAnyBytes) {
  std::vector<u8> bytes(37);
  std::iota(bytes.begin(), bytes.end(), u8{1});
  const Ref<Buffer> a = buffer(bytes), b = buffer(std::vector<u8>(41, 0));
  EXPECT_EQ(read<u8>(*a), bytes);
  // Within the words, and at their ends.
  const u8 three[] = {101, 102, 103};
  ASSERT_TRUE(a->copy_in(three, 3, 6));
  std::copy_n(three, 3, bytes.begin() + 6);
  EXPECT_EQ(read<u8>(*a), bytes);
  u8 five[5];
  ASSERT_TRUE(a->copy_out(five, 5, 5));
  EXPECT_TRUE(std::equal(five, five + 5, bytes.begin() + 5));

  std::vector<u8> expected(41, 0);
  for (const auto& [to, from, count] :
       {std::array<i64, 3>{0, 4, 8}, {9, 3, 7}, {20, 16, 21}, {38, 0, 3}}) {
    ASSERT_TRUE(core::copy_bytes(*b, to, *a, from, count)) << to;
    std::copy_n(bytes.begin() + from, count, expected.begin() + to);
  }
  EXPECT_EQ(read<u8>(*b), expected);
  // Within one buffer.
  ASSERT_TRUE(core::copy_bytes(*b, 24, *b, 4, 8));
  std::copy_n(expected.begin() + 4, 8, expected.begin() + 24);
  EXPECT_EQ(read<u8>(*b), expected);
  EXPECT_TRUE(device_->synchronize());
}

// Further apart than one binding shows, as in a large arena.
TEST_F(WebGpuTest, PartsOfALargeBufferAreBoundApart) {
  const DeviceInfo& info = device_->info();
  const i64 bytes = info.binding_bytes + (1 << 20), far = bytes - 32;
  if (info.binding_bytes > i64{1} << 30 || bytes > info.buffer_bytes)
    GTEST_SKIP() << "a binding has " << info.binding_bytes << " bytes, a buffer "
                 << info.buffer_bytes;
  const auto scale = program();
  const Ref<Buffer> large = *Buffer::allocate(*device_, bytes);
  const std::vector<i32> values = {1, 2, 3, 4, 5, 6, 7, 8};
  ASSERT_TRUE(large->copy_in(values.data(), 32, far));
  const BufferView views[] = {{large.get(), 64}, {large.get(), far}};
  const i64 n = 10;
  Result<void> launched = scale->launch(views, {&n, 1});
  ASSERT_TRUE(launched) << launched.error().message;
  std::vector<i32> got(8);
  ASSERT_TRUE(large->copy_out(got.data(), 32, 64));
  EXPECT_EQ(got, (std::vector<i32>{10, 21, 32, 43, 54, 65, 76, 87}));
  EXPECT_TRUE(device_->synchronize());
}

TEST_F(WebGpuTest, TooMuchMemoryIsAnError) {
  const auto made = Buffer::allocate(*device_, i64{1} << 45);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind, ErrorKind::OutOfMemory);
  EXPECT_NE(made.error().message.find("35184372088832 bytes wanted"), std::string::npos)
      << made.error().message;
  EXPECT_TRUE(buffer<i32>({1}));
}

// A buffer that is released while launches of it are still collected, many times over.
TEST_F(WebGpuTest, MemoryOfCollectedLaunchesIsKept) {
  const auto scale = program();
  const Ref<Buffer> y = buffer<i32>({0, 0, 0, 0, 0, 0, 0, 0});
  const i64 n = 1;
  for (i32 round = 0; round < 40; ++round) {
    const Ref<Buffer> x = buffer(std::vector<i32>(8, round));
    const BufferView views[] = {{y.get(), 0}, {x.get(), 0}};
    ASSERT_TRUE(scale->launch(views, {&n, 1}));
    device_->allocator().flush();
  }
  EXPECT_EQ(read<i32>(*y), (std::vector<i32>{39, 40, 41, 42, 43, 44, 45, 46}));
  EXPECT_TRUE(device_->synchronize());
}

TEST_F(WebGpuTest, KernelsAreTraced) {
  if (!device_->info().timestamps) GTEST_SKIP() << "the adapter has no timestamps";
  hcq::Trace trace;
  Options options = options_here();
  options.trace = &trace;
  device_ = *open_device(spec_here(), options);
  ASSERT_TRUE(device_->adds_spans());
  const auto scale = program();
  const Ref<Buffer> x = buffer(std::vector<i32>(8, 1)), y = buffer(std::vector<i32>(8, 0));
  const BufferView views[] = {{y.get(), 0}, {x.get(), 0}};
  for (i64 n = 0; n < 300; ++n) ASSERT_TRUE(scale->launch(views, {&n, 1}));  // more than a batch
  ASSERT_TRUE(device_->finish());
  const std::vector<hcq::Trace::Span> spans = trace.spans();
  ASSERT_EQ(spans.size(), 300u);
  for (usize i = 0; i < spans.size(); ++i) {
    EXPECT_EQ(spans[i].name, "scale");
    EXPECT_LE(spans[i].begin_ns, spans[i].end_ns);
    if (i > 0) {
      EXPECT_LE(spans[i - 1].begin_ns, spans[i].begin_ns);
    }
  }
}

}  // namespace
}  // namespace doorbell::webgpu::testing
