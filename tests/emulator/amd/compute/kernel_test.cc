// Kernels compiled by LLVM, run on grids, chip by chip: ids, LDS and barriers, scratch, atomics,
// groups that wait for each other, and the same seed twice.
#include <gtest/gtest.h>

#include <numeric>

#include "emulator/amd/compute/grid.h"
#include "tests/emulator/support/matmul_kernel.h"
#include "tests/emulator/support/test_gpu.h"

namespace doorbell::emu::amdgpu {
namespace {

using testing::Arguments;
using testing::TestGpu;
using testing::TestKernel;

struct Form {
  const char* chip;
  const char* features;
};
void PrintTo(const Form& form, std::ostream* out) { *out << form.chip << form.features; }

class Kernel : public ::testing::TestWithParam<Form> {
 protected:
  TestGpu gpu{GetParam().chip};
  TestKernel compile(std::string_view ir) { return gpu.compile(ir, GetParam().features); }
  void expect_done(const GridStop& stop) {
    ASSERT_EQ(stop.kind, GridStop::Kind::Done) << stop.what;
  }
};

// out[z][y][x] = x + 100 y + 10000 z, of the global ids; behind it, the group's ids.
constexpr const char* kIds = R"(
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workitem.id.y()
declare i32 @llvm.amdgcn.workitem.id.z()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workgroup.id.y()
declare i32 @llvm.amdgcn.workgroup.id.z()
define amdgpu_kernel void @kernel(ptr addrspace(1) %out, i32 %sx, i32 %sy, i32 %sz, i32 %width,
                                  i32 %plane) {
  %lx = call i32 @llvm.amdgcn.workitem.id.x()
  %ly = call i32 @llvm.amdgcn.workitem.id.y()
  %lz = call i32 @llvm.amdgcn.workitem.id.z()
  %gx = call i32 @llvm.amdgcn.workgroup.id.x()
  %gy = call i32 @llvm.amdgcn.workgroup.id.y()
  %gz = call i32 @llvm.amdgcn.workgroup.id.z()
  %bx = mul i32 %gx, %sx
  %by = mul i32 %gy, %sy
  %bz = mul i32 %gz, %sz
  %x = add i32 %bx, %lx
  %y = add i32 %by, %ly
  %z = add i32 %bz, %lz
  %yv = mul i32 %y, 100
  %zv = mul i32 %z, 10000
  %v0 = add i32 %x, %yv
  %v = add i32 %v0, %zv
  %yo = mul i32 %y, %width
  %zo = mul i32 %z, %plane
  %o0 = add i32 %x, %yo
  %o = add i32 %o0, %zo
  %o64 = zext i32 %o to i64
  %p = getelementptr i32, ptr addrspace(1) %out, i64 %o64
  store i32 %v, ptr addrspace(1) %p
  ret void
}
)";

TEST_P(Kernel, KnowsItsIds) {
  const TestKernel kernel = compile(kIds);
  // 19 x 7 x 3 work items in groups of 8 x 3 x 2: the last group of each dimension is partial.
  const u64 out = gpu.allocate(19 * 7 * 3 * 4);
  expect_done(gpu.launch(kernel,
                         {.groups = {3, 3, 2}, .group_size = {8, 3, 2}, .partial_size = {3, 1, 1}},
                         Arguments().add(out).add(8).add(3).add(2).add(19).add(19 * 7)));
  const std::vector<u32> values = gpu.read<u32>(out, 19 * 7 * 3);
  for (u32 z = 0; z < 3; ++z) {
    for (u32 y = 0; y < 7; ++y) {
      for (u32 x = 0; x < 19; ++x) {
        ASSERT_EQ(values[(z * 7 + y) * 19 + x], x + 100 * y + 10000 * z) << x << y << z;
      }
    }
  }
}

// A group sums its 256 elements in LDS, halving, with a barrier at each step.
constexpr const char* kReduce = R"(
@shared = internal addrspace(3) global [256 x i32] poison, align 4
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare void @llvm.amdgcn.s.barrier()
define amdgpu_kernel void @kernel(ptr addrspace(1) %out, ptr addrspace(1) %in) #0 {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %g = call i32 @llvm.amdgcn.workgroup.id.x()
  %base = mul i32 %g, 256
  %i = add i32 %base, %l
  %p = getelementptr i32, ptr addrspace(1) %in, i32 %i
  %v = load i32, ptr addrspace(1) %p
  %s = getelementptr [256 x i32], ptr addrspace(3) @shared, i32 0, i32 %l
  store i32 %v, ptr addrspace(3) %s
  br label %loop
loop:
  %half = phi i32 [ 128, %0 ], [ %next, %join ]
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %active = icmp ult i32 %l, %half
  br i1 %active, label %sum, label %join
sum:
  %other = add i32 %l, %half
  %q = getelementptr [256 x i32], ptr addrspace(3) @shared, i32 0, i32 %other
  %a = load i32, ptr addrspace(3) %s
  %b = load i32, ptr addrspace(3) %q
  %c = add i32 %a, %b
  store i32 %c, ptr addrspace(3) %s
  br label %join
join:
  %next = lshr i32 %half, 1
  %more = icmp ne i32 %next, 0
  br i1 %more, label %loop, label %done
done:
  %first = icmp eq i32 %l, 0
  br i1 %first, label %write, label %end
write:
  %r = load i32, ptr addrspace(3) %s
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %g
  store i32 %r, ptr addrspace(1) %o
  br label %end
end:
  ret void
}
attributes #0 = { "amdgpu-flat-work-group-size"="256,256" }
)";

TEST_P(Kernel, MeetsAtBarriers) {
  const TestKernel kernel = compile(kReduce);
  std::vector<u32> in(4 * 256);
  std::iota(in.begin(), in.end(), 7);
  const u64 input = gpu.buffer(in), out = gpu.allocate(16);
  for (const GridOptions& options :
       {GridOptions{}, GridOptions{.seed = 3}, GridOptions{.seed = 4, .poison = true}}) {
    std::memset(gpu.host(out), 0, 16);
    expect_done(gpu.launch(kernel,
                           {.groups = {4, 1, 1}, .group_size = {256, 1, 1}, .options = options},
                           Arguments().add(out).add(input)));
    for (u32 g = 0; g < 4; ++g) {
      const u32 expected = std::accumulate(in.begin() + g * 256, in.begin() + (g + 1) * 256, 0u);
      EXPECT_EQ(gpu.read<u32>(out, 4)[g], expected);
    }
  }
}

// An array in scratch with indices known at run time only, filled before a barrier, read behind it.
constexpr const char* kScratch = R"(
declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.barrier()
define amdgpu_kernel void @kernel(ptr addrspace(1) %out, i32 %n) #0 {
  %array = alloca [64 x i32], align 4, addrspace(5)
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  br label %fill
fill:
  %i = phi i32 [ 0, %0 ], [ %i1, %fill ]
  %x = mul i32 %i, 3
  %v = add i32 %x, %l
  %p = getelementptr [64 x i32], ptr addrspace(5) %array, i32 0, i32 %i
  store volatile i32 %v, ptr addrspace(5) %p
  %i1 = add i32 %i, 1
  %more = icmp ult i32 %i1, %n
  br i1 %more, label %fill, label %meet
meet:
  call void @llvm.amdgcn.s.barrier()
  br label %sum
sum:
  %j = phi i32 [ 0, %meet ], [ %j1, %sum ]
  %acc = phi i32 [ 0, %meet ], [ %acc1, %sum ]
  %shift = add i32 %j, %l
  %k = and i32 %shift, 31
  %q = getelementptr [64 x i32], ptr addrspace(5) %array, i32 0, i32 %k
  %w = load volatile i32, ptr addrspace(5) %q
  %m = mul i32 %w, %j
  %acc1 = add i32 %acc, %m
  %j1 = add i32 %j, 1
  %again = icmp ult i32 %j1, 32
  br i1 %again, label %sum, label %end
end:
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %l
  store i32 %acc1, ptr addrspace(1) %o
  ret void
}
attributes #0 = { "amdgpu-flat-work-group-size"="256,256" }
)";

TEST_P(Kernel, KeepsScratchOfWavesApart) {
  const TestKernel kernel = compile(kScratch);
  EXPECT_GT(kernel.scratch_lane_bytes, 0u);
  const u64 out = gpu.allocate(256 * 4);
  for (u64 seed : {0, 5}) {
    std::memset(gpu.host(out), 0, 256 * 4);
    const GridOptions options{.seed = seed, .poison = seed != 0};
    expect_done(gpu.launch(kernel, {.group_size = {256, 1, 1}, .options = options},
                           Arguments().add(out).add(u32{40})));
    const std::vector<u32> values = gpu.read<u32>(out, 256);
    for (u32 lane = 0; lane < 256; ++lane) {
      u32 expected = 0;
      for (u32 j = 0; j < 32; ++j) expected += ((j + lane) % 32 * 3 + lane) * j;
      ASSERT_EQ(values[lane], expected) << lane;
    }
  }
}

TEST_P(Kernel, WantsScratchSlotsForAGroup) {
  const TestKernel kernel = compile(kScratch);
  const GridStop stop = gpu.launch(kernel, {.group_size = {256, 1, 1}, .scratch_waves = 3},
                                   Arguments().add(gpu.allocate(1024)).add(u32{40}));
  EXPECT_EQ(stop.kind, GridStop::Kind::Scratch);
  EXPECT_NE(stop.what.find("scratch has slots for 3"), std::string::npos) << stop.what;
}

// Group 0 waits for what group 1 writes.
constexpr const char* kHandOver = R"(
declare i32 @llvm.amdgcn.workgroup.id.x()
define amdgpu_kernel void @kernel(ptr addrspace(1) %flag, ptr addrspace(1) %out) {
  %g = call i32 @llvm.amdgcn.workgroup.id.x()
  %first = icmp eq i32 %g, 0
  br i1 %first, label %wait, label %tell
wait:
  %v = load atomic i32, ptr addrspace(1) %flag syncscope("agent") acquire, align 4
  %there = icmp ne i32 %v, 0
  br i1 %there, label %write, label %wait
write:
  store i32 %v, ptr addrspace(1) %out
  ret void
tell:
  store atomic i32 42, ptr addrspace(1) %flag syncscope("agent") release, align 4
  ret void
}
)";

TEST_P(Kernel, LetsGroupsWaitForLaterOnes) {
  const TestKernel kernel = compile(kHandOver);
  const u64 flag = gpu.allocate(4), out = gpu.allocate(4);
  for (u64 seed : {0, 9}) {
    std::memset(gpu.host(flag), 0, 4);
    expect_done(gpu.launch(
        kernel, {.groups = {2, 1, 1}, .group_size = {1, 1, 1}, .options = {.seed = seed}},
        Arguments().add(flag).add(out)));
    EXPECT_EQ(gpu.read<u32>(out, 1)[0], 42u);
  }
}

// Every wave takes numbers from a counter, which show the order in which waves ran.
constexpr const char* kTakeNumbers = R"(
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
define amdgpu_kernel void @kernel(ptr addrspace(1) %counter, ptr addrspace(1) %out) {
  %l = call i32 @llvm.amdgcn.workitem.id.x()
  %g = call i32 @llvm.amdgcn.workgroup.id.x()
  %base = mul i32 %g, 64
  %i = add i32 %base, %l
  br label %loop
loop:
  %n = phi i32 [ 0, %0 ], [ %n1, %loop ]
  %sum = phi i32 [ 0, %0 ], [ %sum1, %loop ]
  %v = atomicrmw add ptr addrspace(1) %counter, i32 %l syncscope("agent") monotonic
  %twice = mul i32 %sum, 3
  %sum1 = add i32 %twice, %v
  %n1 = add i32 %n, 1
  %more = icmp ult i32 %n1, 20
  br i1 %more, label %loop, label %end
end:
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %i
  store i32 %sum1, ptr addrspace(1) %o
  ret void
}
)";

TEST_P(Kernel, RepeatsWhatASeedDid) {
  const TestKernel kernel = compile(kTakeNumbers);
  const u64 counter = gpu.allocate(4), out = gpu.allocate(8 * 64 * 4);
  const auto run = [&](u64 seed) {
    std::memset(gpu.host(counter), 0, 4);
    expect_done(gpu.launch(
        kernel, {.groups = {8, 1, 1}, .group_size = {64, 1, 1}, .options = {.seed = seed}},
        Arguments().add(counter).add(out)));
    return std::pair(gpu.order_hash(), gpu.read<u32>(out, 8 * 64));
  };
  const auto first = run(1), again = run(1), other = run(2);
  EXPECT_EQ(first, again);
  EXPECT_NE(first.first, other.first);
  EXPECT_NE(first.second, other.second);
}

TEST_P(Kernel, NamesGroupAndWaveOfAFault) {
  const TestKernel kernel = compile(kIds);
  const u64 out = gpu.allocate(4096);
  const GridStop stop = gpu.launch(kernel, {.groups = {40, 1, 1}, .group_size = {64, 1, 1}},
                                   Arguments().add(out).add(64).add(1).add(1).add(0).add(0));
  EXPECT_EQ(stop.kind, GridStop::Kind::Fault);
  EXPECT_EQ(stop.fault.kind, AccessFault::Kind::NotPresent);
  EXPECT_EQ(stop.fault.address, out + 4096);
  EXPECT_EQ(stop.group[0], 16u);
  EXPECT_NE(stop.what.find("group 16,0,0, wave 0"), std::string::npos) << stop.what;
  EXPECT_NE(stop.what.find("writes to"), std::string::npos) << stop.what;
}

TEST_P(Kernel, MultipliesMatricesInTiles) {
  constexpr u32 kSize = 256;
  const TestKernel kernel = compile(testing::kMatmul256);
  // Small integers: every sum is exact.
  std::vector<f32> a(kSize * kSize), b(kSize * kSize);
  for (u32 i = 0; i < a.size(); ++i) {
    a[i] = static_cast<f32>(i * 7 % 11) - 5;
    b[i] = static_cast<f32>(i * 5 % 13) - 6;
  }
  const u64 left = gpu.buffer(a), right = gpu.buffer(b), out = gpu.allocate(a.size() * 4);
  expect_done(gpu.launch(kernel, {.groups = {8, 8, 1}, .group_size = {64, 1, 1}},
                         Arguments().add(out).add(left).add(right)));
  const std::vector<f32> c = gpu.read<f32>(out, kSize * kSize);
  std::vector<f32> expected(kSize);
  for (u32 i = 0; i < kSize; ++i) {
    std::fill(expected.begin(), expected.end(), 0.0f);
    for (u32 k = 0; k < kSize; ++k) {
      for (u32 j = 0; j < kSize; ++j) expected[j] += a[i * kSize + k] * b[k * kSize + j];
    }
    for (u32 j = 0; j < kSize; ++j) ASSERT_EQ(c[i * kSize + j], expected[j]) << i << " " << j;
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, Kernel,
                         ::testing::Values(Form{"gfx942", ""}, Form{"gfx1030", ""},
                                           Form{"gfx1030", "+wavefrontsize64"}, Form{"gfx1100", ""},
                                           Form{"gfx1100", "+wavefrontsize64"},
                                           Form{"gfx1201", ""}));

}  // namespace
}  // namespace doorbell::emu::amdgpu
