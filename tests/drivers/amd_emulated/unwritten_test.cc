// A value that a kernel stored and that was not written back from the L2, while another GPU's queue
// waits for it: when no queue can continue, the report says where the value is, and which kernel
// stored it.
#include "drivers/amd/hw/stream/stream.h"
#include "emulator/amd/cp/packet_hook.h"
#include "emulator/amd/cp/rules.h"
#include "emulator/amd/kfd/kfd_checks.h"
#include "tests/drivers/amd_emulated/emulated_test.h"
#include "tests/emulator/support/compile_amdgpu.h"

namespace doorbell::amd {
namespace {

constexpr u32 kValue = 5;

// out[0] = 5.
constexpr const char* kKernel = R"(
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @put(ptr addrspace(1) %out) #0 {
  store i32 5, ptr addrspace(1) %out, align 4
  ret void
}
attributes #0 = { "amdgpu-flat-work-group-size"="1,1" "amdgpu-no-implicitarg-ptr" }
)";

// Takes GL2_WB out of every packet.
class NoWriteBack final : public emu::amdgpu::PacketHook {
 public:
  Verdict packet(emu::amdgpu::QueueId, emu::amdgpu::QueueKind kind, unsigned,
                 std::vector<u32>& words) override {
    if (kind == emu::amdgpu::QueueKind::Sdma) return Verdict::Take;
    const StreamPacket packet = hw::read_packet(hw::StreamKind::Pm4, hw::Generation::Gfx11, words);
    for (const PacketField& field : packet.fields)
      if (field.name == "gl2_wb") deposit(words, *field.place, 0);
    return Verdict::Take;
  }
};

struct UnwrittenTest : EmulatedTest {
  // What the emulator reported of a rule that has `text` in it.
  std::vector<std::string> reports(const emu::Check& check, const std::string& text) {
    std::vector<std::string> found;
    for (const emu::Report& report : machine->checks().reports())
      if (report.check == &check && report.message.find(text) != std::string::npos)
        found.push_back(report.message);
    return found;
  }
};

TEST_F(UnwrittenTest, AWaitForItIsNamedWithTheKernel) {
  for (const bool written : {true, false}) {
    NoWriteBack hook;
    boot({.gpus = {"gfx1100", "gfx1100"},
          .checks = "warn",
          .adversarial = true,
          .lockstep = true,
          .seed = 6,
          .hook = written ? nullptr : &hook});
    const std::unique_ptr<AmdDevice> first = open(0), second = open(1);
    const std::unique_ptr<KfdMemory> cell = *first->gpu().allocate({.bytes = 4096,
                                                                    .kind = MemoryKind::Host,
                                                                    .coherence = Coherence::Cached,
                                                                    .what = "a cell"});
    ASSERT_TRUE(cell->map_to(second->gpu()));
    core::Binary binary;
    binary.name = "put";
    binary.image = *testing::compile_ir(kKernel, "gfx1100");
    binary.param_count = 1;
    const std::unique_ptr<core::Program> program = *first->load(binary);
    const Ref<Buffer> out = Buffer::wrap(*first, {.address = cell->address(), .bytes = 4096});
    const core::BufferView views[] = {{out.get(), 0}};
    ASSERT_TRUE(program->launch(views, {}));
    ASSERT_TRUE(first->synchronize());
    u32& value = *reinterpret_cast<u32*>(cell->host());
    EXPECT_EQ(value, written ? kValue : 0);

    const std::unique_ptr<hcq::CommandBuffer> commands = second->compute_queue().make_commands();
    commands->wait(cell->address(), kValue);
    ASSERT_TRUE(second->compute_queue().submit(*commands));
    // The host sleeps until somebody wakes it.
    emu::amdgpu::Events& events = machine->kfd().events();
    emu::amdgpu::EventWait wait[1];
    ASSERT_EQ(events.create(static_cast<u32>(emu::amdgpu::EventType::Signal), true, wait[0].id), 0);
    emu::amdgpu::WaitResult result;
    ASSERT_EQ(events.wait(wait, true, ~u32{0}, result), 0);
    ASSERT_EQ(machine->checks().count(emu::amdgpu::kEventForever), 1u);
    const std::string left =
        fmt::format("'s bytes of {:#x} are still in the L2: GL2_WB", cell->address());
    const auto forever = reports(emu::amdgpu::kEventForever, left);
    const auto dirty = reports(emu::amdgpu::kDirtyL2, "memory that is waited for on GPU 0 kernel");
    EXPECT_EQ(forever.size(), written ? 0u : 1u);
    EXPECT_EQ(dirty.size(), written ? 0u : 1u);
    for (const std::string& told : forever)
      EXPECT_NE(told.find("GPU 1 queue"), std::string::npos) << told;
    value = kValue;
    EXPECT_TRUE(second->synchronize());
  }
}

}  // namespace
}  // namespace doorbell::amd
