// OpenCL devices with kernels written by hand: programs, arguments, copies, errors, the trace.
#include "drivers/cl/device.h"

#include <numeric>

#include "core/device/buffer.h"
#include "drivers/cl/image.h"
#include "tests/drivers/cl/cl_test_support.h"

namespace doorbell::cl::testing {
namespace {

using core::Binary;
using core::Buffer;
using core::BufferView;
using core::Ref;

// y[i] = x[i] * n + i, in groups of four.
constexpr std::string_view kScale =
    "kernel void scale(global uchar* b0, ulong o0, global const uchar* b1, ulong o1, long n) {\n"
    "  global int* y = (global int*)(b0 + o0);\n"
    "  global const int* x = (global const int*)(b1 + o1);\n"
    "  int i = (int)get_global_id(0);\n"
    "  y[i] = x[i] * (int)n + i;\n"
    "}\n";

class ClDeviceTest : public PlatformTest {
 protected:
  Binary binary(std::vector<u8> image, i64 groups) {
    Binary binary;
    binary.name = "scale";
    binary.image = std::move(image);
    binary.param_count = 2;
    binary.variable_count = 1;
    binary.grid_groups[0] = groups;
    binary.group_items[0] = 4;
    return binary;
  }
  Ref<Buffer> buffer(ClDevice& device, const std::vector<i32>& values) {
    const i64 bytes = static_cast<i64>(values.size() * sizeof(i32));
    Ref<Buffer> made = *Buffer::allocate(device, bytes);
    EXPECT_TRUE(made->copy_in(values.data(), bytes));
    return made;
  }
  std::vector<i32> read(const Buffer& buffer) {
    std::vector<i32> values(static_cast<usize>(buffer.bytes()) / sizeof(i32));
    EXPECT_TRUE(buffer.copy_out(values.data(), buffer.bytes()));
    return values;
  }
};

TEST_P(ClDeviceTest, BuildErrorsCarryTheCompilersWords) {
  std::unique_ptr<ClDevice> device = open();
  const auto image =
      device->build("broken", "kernel void broken(global int* p) { p[0] = nonsense; }");
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().kind, ErrorKind::Compile);
  EXPECT_EQ(image.error().device, "CL");
  EXPECT_NE(image.error().message.find("nonsense"), std::string::npos);
  EXPECT_NE(image.error().message.find("CL_BUILD_PROGRAM_FAILURE"), std::string::npos);
  EXPECT_NE(image.error().message.find("undeclared"), std::string::npos) << image.error().message;
}

TEST_P(ClDeviceTest, KernelsRunFromSourceAndFromBinary) {
  std::unique_ptr<ClDevice> device = open();
  const std::vector<u8> built = *device->build("scale", kScale);
  const Ref<Buffer> x = buffer(*device, {1, 2, 3, 4, 5, 6, 7, 8});
  // What build() compiled, the device's binary, and no binary.
  for (const std::vector<u8>& image : {built, built, encode({kScale, {}})}) {
    const Ref<Buffer> y = buffer(*device, std::vector<i32>(8, -1));
    auto program = device->load(binary(image, 2));
    ASSERT_TRUE(program) << program.error().message;
    const BufferView views[] = {{y.get(), 0}, {x.get(), 0}};
    const i64 variables[] = {10};
    ASSERT_TRUE((*program)->launch(views, variables));
    ASSERT_TRUE(device->synchronize());
    EXPECT_EQ(read(*y), (std::vector<i32>{10, 21, 32, 43, 54, 65, 76, 87}));
  }
}

TEST_P(ClDeviceTest, WhatIsNoImageIsRefused) {
  std::unique_ptr<ClDevice> device = open();
  std::vector<u8> damaged = encode({kScale, {}}), longer = damaged;
  damaged.back() ^= 1;
  longer[9] = 200;  // bytes of source
  for (const std::vector<u8>& image : {std::vector<u8>{1, 2, 3}, damaged, longer}) {
    const auto program = device->load(binary(image, 1));
    ASSERT_FALSE(program);
    EXPECT_EQ(program.error().kind, ErrorKind::Corrupt);
  }
}

// OpenCL's own sub-buffers begin at multiples of 128 bytes and more.
TEST_P(ClDeviceTest, ArgumentsBeginAnywhereInABuffer) {
  std::unique_ptr<ClDevice> device = open();
  auto program = *device->load(binary(*device->build("scale", kScale), 1));
  const Ref<Buffer> all = buffer(*device, {0, 7, 8, 9, 10, 0, 0, 0, 0, 0, 0});
  const BufferView views[] = {{all.get(), 24}, {all.get(), 4}};
  ASSERT_TRUE(program->launch(views, std::vector<i64>{2}));
  ASSERT_TRUE(device->synchronize());
  EXPECT_EQ(read(*all), (std::vector<i32>{0, 7, 8, 9, 10, 0, 14, 17, 20, 23, 0}));
}

// No synchronize() between: a transfer waits for the kernels on its memory, and so does a kernel
// for those before it, also when memory was released and given out again meanwhile.
TEST_P(ClDeviceTest, TransfersWaitForTheKernelsOfTheirMemory) {
  std::unique_ptr<ClDevice> device = open();
  auto program = *device->load(binary(*device->build("scale", kScale), 64));
  std::vector<i32> ones(256, 1);
  Ref<Buffer> x = buffer(*device, ones);
  i32 expected = 1;  // of element 0, which grows by no index
  for (int step = 0; step < 300; ++step) {
    if (step % 50 == 0) {
      ASSERT_TRUE(x->copy_in(ones.data(), x->bytes()));
      expected = 1;
    }
    Ref<Buffer> y = *Buffer::allocate(*device, x->bytes());
    const BufferView views[] = {{y.get(), 0}, {x.get(), 0}};
    const i64 factor = step % 3 == 0 ? 3 : -1;
    expected *= static_cast<i32>(factor);
    ASSERT_TRUE(program->launch(views, std::vector<i64>{factor}));
    x = y;
    if (step % 10 == 9) {
      EXPECT_EQ(read(*x)[0], expected) << step;
    }
  }
}

TEST_P(ClDeviceTest, CopiesWithinTheDeviceFollowKernels) {
  std::unique_ptr<ClDevice> device = open();
  auto program = *device->load(binary(*device->build("scale", kScale), 1));
  const Ref<Buffer> x = buffer(*device, {1, 2, 3, 4}), y = buffer(*device, {0, 0, 0, 0});
  const Ref<Buffer> z = buffer(*device, {9, 9, 9, 9, 9, 9});
  const BufferView views[] = {{y.get(), 0}, {x.get(), 0}};
  ASSERT_TRUE(program->launch(views, std::vector<i64>{5}));
  ASSERT_TRUE(core::copy_between(*z, 4, *y, 4, 12));
  EXPECT_EQ(read(*z), (std::vector<i32>{9, 11, 17, 23, 9, 9}));
}

// A second kernel that says, by a thousand, that it is the one that ran.
constexpr std::string_view kImages =
    "kernel void scale(global uchar* b0, ulong o0, global const uchar* b1, ulong o1, long n) {\n"
    "  global float* y = (global float*)(b0 + o0);\n"
    "  global const float* x = (global const float*)(b1 + o1);\n"
    "  int i = (int)get_global_id(0);\n"
    "  y[i] = x[i] * (int)n;\n"
    "}\n"
    "kernel void scale_images(global uchar* b0, ulong o0, read_only image1d_buffer_t b1,\n"
    "                         ulong o1, long n) {\n"
    "  global float* y = (global float*)(b0 + o0);\n"
    "  int i = (int)get_global_id(0);\n"
    "  float4 x = read_imagef(b1, (int)(o1 >> 4) + i / 4);\n"
    "  y[i] = (i % 4 == 0 ? x.x : i % 4 == 1 ? x.y : i % 4 == 2 ? x.z : x.w) * (int)n + 1000;\n"
    "}\n";

TEST_P(ClDeviceTest, ImagesAreReadWhereALaunchAllowsIt) {
  std::unique_ptr<ClDevice> device = open();
  if (device->info().image_texels == 0) GTEST_SKIP() << "no images here";
  Binary both = binary(*device->build("scale", kImages), 1);
  both.image_params = 2;  // slot 1
  auto program = device->load(both);
  ASSERT_TRUE(program) << program.error().message;
  const auto floats = [&](std::vector<f32> values) {
    const i64 bytes = static_cast<i64>(values.size() * sizeof(f32));
    Ref<Buffer> made = *Buffer::allocate(*device, bytes);
    EXPECT_TRUE(made->copy_in(values.data(), bytes));
    return made;
  };
  const auto launch = [&](Buffer& out, i64 to, Buffer& in, i64 from) {
    const BufferView views[] = {{&out, to}, {&in, from}};
    EXPECT_TRUE((*program)->launch(views, std::vector<i64>{2}));
    std::vector<f32> result(4);
    EXPECT_TRUE(device->synchronize());
    EXPECT_TRUE(out.copy_out(result.data(), 16, to));
    return result;
  };
  const Ref<Buffer> y = floats({0, 0, 0, 0});
  const Ref<Buffer> x = floats({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  EXPECT_EQ(launch(*y, 0, *x, 0), (std::vector<f32>{1002, 1004, 1006, 1008}));
  EXPECT_EQ(launch(*y, 0, *x, 32), (std::vector<f32>{1018, 1020, 1022, 1024}));
  EXPECT_EQ(launch(*y, 0, *x, 4), (std::vector<f32>{4, 6, 8, 10}));  // within a texel
  // The memory that it writes.
  EXPECT_EQ(launch(*x, 32, *x, 0), (std::vector<f32>{2, 4, 6, 8}));
  // The image sees what was written.
  EXPECT_EQ(launch(*y, 0, *x, 32), (std::vector<f32>{1004, 1008, 1012, 1016}));
}

TEST_P(ClDeviceTest, TooMuchMemoryIsRefusedWithBothSizes) {
  std::unique_ptr<ClDevice> device = open();
  const i64 most = device->info().max_allocation;
  const auto one = Buffer::allocate(*device, most + 1);
  ASSERT_FALSE(one);
  EXPECT_EQ(one.error().kind, ErrorKind::OutOfMemory);
  EXPECT_EQ(one.error().device, "CL");
  EXPECT_NE(one.error().message.find(std::to_string(most + 1)), std::string::npos);
  EXPECT_NE(one.error().message.find(std::to_string(most) + " on "), std::string::npos)
      << one.error().message;
}

TEST_P(ClDeviceTest, EmptyMemoryIsMemory) {
  std::unique_ptr<ClDevice> device = open();
  const auto none = Buffer::allocate(*device, 0);
  ASSERT_TRUE(none);
  EXPECT_TRUE((*none)->copy_in(nullptr, 0));
  EXPECT_TRUE((*none)->copy_out(nullptr, 0));
}

TEST_P(ClDeviceTest, KernelsSayHowLargeTheirGroupsMayBe) {
  std::unique_ptr<ClDevice> device = open();
  const std::vector<u8> image = *device->build("scale", kScale);
  const auto most = device->max_workgroup_size("scale", image);
  ASSERT_TRUE(most) << most.error().message;
  EXPECT_GE(*most, 1);
  EXPECT_LE(*most, device->info().group_items);
  const auto none = device->max_workgroup_size("other", image);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("CL_INVALID_KERNEL_NAME: other"), std::string::npos);
}

TEST_P(ClDeviceTest, GroupsLargerThanTheDevicesAreRefused) {
  std::unique_ptr<ClDevice> device = open();
  Binary large = binary(*device->build("scale", kScale), 1);
  large.group_items[0] = device->info().group_items * 2;
  const auto program = device->load(large);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().kind, ErrorKind::Unsupported);
  EXPECT_NE(program.error().message.find(std::to_string(large.group_items[0])), std::string::npos);
}

TEST_P(ClDeviceTest, KernelsAndCopiesAreTraced) {
  hcq::Trace trace;
  {
    Options options;
    options.trace = &trace;
    std::unique_ptr<ClDevice> device = open(options);
    auto program = *device->load(binary(*device->build("scale", kScale), 1));
    const Ref<Buffer> x = buffer(*device, {1, 2, 3, 4}), y = buffer(*device, {0, 0, 0, 0});
    const BufferView views[] = {{y.get(), 0}, {x.get(), 0}};
    ASSERT_TRUE(program->launch(views, std::vector<i64>{5}));
    (void)read(*y);
    ASSERT_TRUE(device->synchronize());
  }
  std::string names;
  for (const hcq::Trace::Span& span : trace.spans()) {
    names += span.device + "/" + span.queue + "/" + span.name + " ";
    EXPECT_LE(span.begin_ns, span.end_ns);
  }
  EXPECT_NE(names.find("CL/compute/scale "), std::string::npos) << names;
  EXPECT_NE(names.find("CL/copy/copy in "), std::string::npos) << names;
  EXPECT_NE(names.find("CL/copy/copy out "), std::string::npos) << names;
}

TEST_P(ClDeviceTest, DevicesBeyondTheLastAreNamed) {
  core::DeviceSpec spec;
  spec.name = "CL:77";
  spec.ordinal = 77;
  const auto device = open_device(spec, {});
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().kind, ErrorKind::NotFound);
  EXPECT_NE(device.error().message.find("CL:77"), std::string::npos) << device.error().message;
}

TEST_P(ClDeviceTest, PlatformsThatAreNotThereAreNamedBesideThoseThatAre) {
  const auto found = find_devices("no such platform");
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("no such platform"), std::string::npos);
  EXPECT_NE(found.error().message.find(GetParam()), std::string::npos) << found.error().message;
}

INSTANTIATE_PLATFORMS(ClDeviceTest);

}  // namespace
}  // namespace doorbell::cl::testing
