// A machine in lockstep moves only when the host asks it to, on the host's own thread: a kernel
// that waits for the host must let it go on.
#include "base/util/try.h"
#include "tests/drivers/amd_emulated/emulated_test.h"
#include "tests/emulator/support/compile_amdgpu.h"

namespace doorbell::amd {
namespace {

// out[0] = flag[0] + 1 as soon as the flag is not 0; what is between two looks is {0}.
constexpr const char* kSpin = R"(
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @spin(ptr addrspace(1) %out, ptr addrspace(1) %flag) #0 {{
  br label %look
look:
  %turn = phi i32 [ 0, %0 ], [ %next, %look ]
  %next = add i32 %turn, 1
  {0}
  %value = load atomic i32, ptr addrspace(1) %flag monotonic, align 4
  %none = icmp eq i32 %value, 0
  br i1 %none, label %look, label %end
end:
  %sum = add i32 %value, 1
  store i32 %sum, ptr addrspace(1) %out
  %turns = getelementptr i32, ptr addrspace(1) %out, i32 1
  store i32 %turn, ptr addrspace(1) %turns
  ret void
}}
declare void @llvm.amdgcn.s.sleep(i32)
attributes #0 = {{ "amdgpu-flat-work-group-size"="1,1" "amdgpu-no-implicitarg-ptr" }}
)";

struct Case {
  bool adversarial, sleeps;
};

struct LockstepTest : EmulatedTest, ::testing::WithParamInterface<Case> {
  LockstepTest() {
    boot({.gpus = {"gfx1100"}, .adversarial = GetParam().adversarial, .lockstep = true, .seed = 5});
    device = open(0, {.timeout_ns = 5'000'000});
    flag_memory =
        *device->gpu().allocate({.bytes = 4096, .kind = MemoryKind::Host, .what = "flag"});
    flag = Buffer::wrap(*device, {.address = flag_memory->address(), .bytes = 4096});
    out = *Buffer::allocate(*device, 8);
  }
  Result<void> launch() {
    core::Binary binary;
    binary.name = "spin";
    const char* between = GetParam().sleeps ? "call void @llvm.amdgcn.s.sleep(i32 1)" : "";
    TRY(binary.image, testing::compile_ir(fmt::format(fmt::runtime(kSpin), between), "gfx1100"));
    binary.param_count = 2;
    TRY(program, device->load(binary));
    const core::BufferView views[] = {{out.get(), 0}, {flag.get(), 0}};
    return program->launch(views, {});
  }

  std::unique_ptr<AmdDevice> device;
  std::unique_ptr<KfdMemory> flag_memory;
  std::unique_ptr<core::Program> program;
  Ref<Buffer> flag, out;
};

TEST_P(LockstepTest, AKernelThatWaitsForTheHostLetsItGoOn) {
  ASSERT_TRUE(launch());
  EXPECT_FALSE(device->compute_queue().idle());
  std::atomic_ref(*reinterpret_cast<u32*>(flag_memory->host())).store(41);
  const Result<void> done = device->synchronize();
  ASSERT_TRUE(done) << done.error().message;
  u32 got[2];
  ASSERT_TRUE(out->copy_out(got, sizeof got));
  EXPECT_EQ(got[0], 42u);
}

TEST_P(LockstepTest, AKernelThatWaitsForEverHangs) {
  ASSERT_TRUE(launch());
  const Result<void> done = device->synchronize();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::Timeout);
  EXPECT_NE(done.error().message.find("kernel spin"), std::string::npos) << done.error().message;
  std::atomic_ref(*reinterpret_cast<u32*>(flag_memory->host())).store(1);
  EXPECT_TRUE(device->synchronize());
}

INSTANTIATE_TEST_SUITE_P(Kernels, LockstepTest,
                         ::testing::Values(Case{false, false}, Case{false, true}, Case{true, false},
                                           Case{true, true}),
                         [](const auto& info) {
                           return std::string(info.param.adversarial ? "Adversarial" : "Fast") +
                                  (info.param.sleeps ? "Sleeps" : "Spins");
                         });

}  // namespace
}  // namespace doorbell::amd
