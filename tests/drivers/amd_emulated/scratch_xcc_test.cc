// Private memory on several XCCs: each has its part of the area, and no wave of one sees another's.
#include <numeric>
#include <vector>

#include "tests/drivers/amd_emulated/emulated_test.h"
#include "tests/emulator/support/compile_amdgpu.h"

namespace doorbell::amd {
namespace {

// Every item fills a private array with numbers of its own, all waves of the group wait for each
// other with their arrays full, and out[i] is what the array has then: 3 * i + 5.
constexpr const char* kKernel = R"(
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @keep(ptr addrspace(1) %out, ptr addrspace(1) %in) #0 {
  %array = alloca [32 x i32], addrspace(5)
  %item = call i32 @llvm.amdgcn.workitem.id.x()
  %group = call i32 @llvm.amdgcn.workgroup.id.x()
  %base = mul i32 %group, 256
  %i = add i32 %base, %item
  %from = getelementptr i32, ptr addrspace(1) %in, i32 %i
  %value = load i32, ptr addrspace(1) %from
  %slot = and i32 %value, 31
  %mine = getelementptr [32 x i32], ptr addrspace(5) %array, i32 0, i32 %slot
  store volatile i32 %value, ptr addrspace(5) %mine
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %kept = load volatile i32, ptr addrspace(5) %mine
  %times = mul i32 %kept, 3
  %sum = add i32 %times, 5
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %i
  store i32 %sum, ptr addrspace(1) %to
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare void @llvm.amdgcn.s.barrier()
attributes #0 = { "amdgpu-flat-work-group-size"="256,256" "amdgpu-no-implicitarg-ptr" }
)";
constexpr u32 kGroup = 256, kGroups = 32;  // four groups for each of eight XCCs

struct ScratchXccTest : EmulatedTest, ::testing::WithParamInterface<OneGpu> {};

TEST_P(ScratchXccTest, KeepsWavesOfAllXccsApart) {
  boot({.gpus = {GetParam().gpu}, .adversarial = GetParam().adversarial, .seed = 7});
  std::unique_ptr<AmdDevice> device = open(0);
  ASSERT_EQ(device->xccs(), 8u);
  core::Binary binary;
  binary.name = "keep";
  binary.image = *testing::compile_ir(kKernel, GetParam().gpu);
  binary.param_count = 2;
  binary.group_items[0] = kGroup;
  binary.grid_groups[0] = kGroups;
  const auto program = *device->load(binary);
  std::vector<u32> in(kGroup * kGroups), out(in.size());
  std::iota(in.begin(), in.end(), 0);
  const i64 bytes = static_cast<i64>(in.size() * sizeof(u32));
  Ref<Buffer> from = *Buffer::allocate(*device, bytes), to = *Buffer::allocate(*device, bytes);
  ASSERT_TRUE(from->copy_in(in.data(), static_cast<usize>(bytes)));
  const core::BufferView views[] = {{to.get(), 0}, {from.get(), 0}};
  ASSERT_TRUE(program->launch(views, {}));
  const Result<void> copied = to->copy_out(out.data(), static_cast<usize>(bytes));
  ASSERT_TRUE(copied) << copied.error().message;
  for (u32 i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], 3 * i + 5) << i;
  EXPECT_EQ(machine->checks().errors(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Machines, ScratchXccTest,
                         ::testing::Values(OneGpu{"gfx942", false}, OneGpu{"gfx942", true},
                                           OneGpu{"gfx950", false}),
                         name_of_case);

}  // namespace
}  // namespace doorbell::amd
