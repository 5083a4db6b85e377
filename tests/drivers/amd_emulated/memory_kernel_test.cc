// Kernels on memory of every kind and coherence of emulated machines: what the host or the GPU
// wrote before they start they read through all their caches, and what they write is there when
// they end. For copies, page tables and errors see memory_test.cc.
#include "base/os/host.h"
#include "tests/drivers/amd_emulated/emulated_test.h"
#include "tests/emulator/support/compile_amdgpu.h"

namespace doorbell::amd {
namespace {

// out[i] = 3 * in[i] + 1 for a group of 64.
constexpr const char* kKernel = R"(
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @scale(ptr addrspace(1) %out, ptr addrspace(1) %in) #0 {
  %item = call i32 @llvm.amdgcn.workitem.id.x()
  %from = getelementptr i32, ptr addrspace(1) %in, i32 %item
  %value = load i32, ptr addrspace(1) %from, align 4
  %times = mul i32 %value, 3
  %sum = add i32 %times, 1
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %item
  store i32 %sum, ptr addrspace(1) %to, align 4
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
attributes #0 = { "amdgpu-flat-work-group-size"="64,64" "amdgpu-no-implicitarg-ptr" }
)";
constexpr u32 kItems = 64;

struct MemoryKernelTest : EmulatedTest, ::testing::WithParamInterface<OneGpu> {
  MemoryKernelTest() {
    boot({.gpus = {GetParam().gpu}, .adversarial = GetParam().adversarial, .seed = 4});
    device = open(0);
    core::Binary binary;
    binary.name = "scale";
    binary.image = *testing::compile_ir(kKernel, GetParam().gpu);
    binary.param_count = 2;
    binary.group_items[0] = kItems;
    program = *device->load(binary);
  }
  std::unique_ptr<KfdMemory> allocate(MemoryKind kind, Coherence coherence, os::Mapping& page) {
    if (kind == MemoryKind::User)
      page = *os::host_files().map_anonymous({.size = 4096, .writable = true});
    return *device->gpu().allocate({.bytes = 4096,
                                    .kind = kind,
                                    .coherence = coherence,
                                    .user = page.data(),
                                    .what = "what a kernel uses"});
  }
  // Three times, with other numbers each time: what a cache keeps of the last time shows.
  void expect_scaled(MemoryKind kind, Coherence coherence) {
    os::Mapping in_page, out_page;
    const std::unique_ptr<KfdMemory> in = allocate(kind, coherence, in_page),
                                     out = allocate(kind, coherence, out_page);
    const Ref<Buffer> from = Buffer::wrap(*device, {.address = in->address(), .bytes = 4096}),
                      to = Buffer::wrap(*device, {.address = out->address(), .bytes = 4096});
    for (u32 turn = 0; turn < 3; ++turn) {
      for (u32 i = 0; i < kItems; ++i) reinterpret_cast<u32*>(in->host())[i] = 1000 * turn + i;
      const core::BufferView views[] = {{to.get(), 0}, {from.get(), 0}};
      ASSERT_TRUE(program->launch(views, {}));
      const Result<void> done = device->synchronize();
      ASSERT_TRUE(done) << done.error().message;
      for (u32 i = 0; i < kItems; ++i)
        ASSERT_EQ(reinterpret_cast<const u32*>(out->host())[i], 3000 * turn + 3 * i + 1)
            << "turn " << turn << " item " << i;
    }
  }
  bool has_ext_coherent() const { return std::string(GetParam().gpu).starts_with("gfx9"); }

  std::unique_ptr<AmdDevice> device;
  std::unique_ptr<core::Program> program;
};

TEST_P(MemoryKernelTest, ReadsAndWritesWhatTheHostSees) {
  for (MemoryKind kind : {MemoryKind::VisibleVram, MemoryKind::Host, MemoryKind::User})
    for (Coherence coherence :
         {Coherence::Cached, Coherence::Coherent, Coherence::ExtCoherent, Coherence::Uncached}) {
      SCOPED_TRACE(
          fmt::format("kind {} coherence {}", static_cast<int>(kind), static_cast<int>(coherence)));
      if (coherence != Coherence::ExtCoherent || has_ext_coherent()) expect_scaled(kind, coherence);
    }
}

INSTANTIATE_TEST_SUITE_P(Machines, MemoryKernelTest, ::testing::ValuesIn(kOfTwoKinds),
                         name_of_case);

}  // namespace
}  // namespace doorbell::amd
