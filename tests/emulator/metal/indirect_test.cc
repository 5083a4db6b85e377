// Indirect command buffers of the emulated Metal, and each of their rules broken.
#include <algorithm>

#include "tests/emulator/metal/metal_client.h"

namespace doorbell::emu::metal {
namespace {

// p0 = p1 * n, of eight floats.
class MetalIndirect : public MetalRules {
 protected:
  MetalIndirect() {
    commands_ = make_commands(2, 31);
    scale_ = pipeline(kScale, nullptr, true);
    std::fill_n(floats(a_), 8, 1.0f);
    std::fill_n(floats(b_), 8, 1.0f);
    *send<i64*>(factor_, "contents") = 3;
  }
  Object* make_commands(u64 count, u64 buffers) {
    Object* descriptor = send<Object*>(
        call<void*(const char*)>("objc_getClass")("MTLIndirectCommandBufferDescriptor"), "new");
    send(descriptor, "setCommandTypes:", u64{1 << 5});
    send(descriptor, "setInheritBuffers:", false);
    send(descriptor, "setInheritPipelineState:", false);
    send(descriptor, "setMaxKernelBufferBindCount:", buffers);
    return send<Object*>(device_, "newIndirectCommandBufferWithDescriptor:maxCommandCount:options:",
                         descriptor, count, u64{0});
  }
  Object* command(u64 index) {
    return send<Object*>(commands_, "indirectComputeCommandAtIndex:", index);
  }
  void encode(u64 index, Object* to, Object* from, bool barrier) {
    Object* made = command(index);
    send(made, "setComputePipelineState:", scale_);
    send(made, "setKernelBuffer:offset:atIndex:", to, u64{0}, u64{0});
    send(made, "setKernelBuffer:offset:atIndex:", from, u64{0}, u64{1});
    send(made, "setKernelBuffer:offset:atIndex:", factor_, u64{0}, u64{2});
    if (barrier) send(made, "setBarrier");
    send(made, "concurrentDispatchThreadgroups:threadsPerThreadgroup:", Size{2, 1, 1},
         Size{4, 1, 1});
  }
  // Runs a range, with these resident; not waited for.
  Object* run(Range range, std::vector<Object*> resident) {
    Object *made = commands(), *open = encoder(made);
    send(open, "useResources:count:usage:", static_cast<Object**>(resident.data()),
         u64{resident.size()}, u64{3});
    send(open, "executeCommandsInBuffer:withRange:", commands_, range);
    send(open, "endEncoding");
    send(made, "commit");
    return made;
  }
  void wait(Object* made) { send(made, "waitUntilCompleted"); }

  Object *commands_, *scale_;
  Object *a_ = buffer(32), *b_ = buffer(32), *factor_ = buffer(8);
};

TEST_F(MetalIndirect, CommandsRunAsOftenAsTheyAreAskedFor) {
  encode(0, b_, a_, true);
  encode(1, a_, b_, true);
  for (int i = 0; i < 2; ++i) wait(run({0, 2}, {a_, b_, factor_}));
  EXPECT_EQ(floats(b_)[7], 27);
  EXPECT_EQ(floats(a_)[7], 81);
  EXPECT_EQ(errors(), 0u);
}

// Without a barrier, what is behind may be first.
TEST_F(MetalIndirect, OnlyBarriersKeepOrder) {
  encode(0, b_, a_, false);
  encode(1, a_, b_, false);
  wait(run({0, 2}, {a_, b_, factor_}));
  EXPECT_EQ(floats(a_)[0], 3);
  EXPECT_EQ(floats(b_)[0], 9);
  EXPECT_EQ(errors(), 0u);
}

TEST_F(MetalIndirect, EverythingThatRunsIsResident) {
  encode(0, b_, a_, true);
  wait(run({0, 1}, {a_, b_}));
  EXPECT_EQ(count(kResident), 1u);
  EXPECT_EQ(floats(b_)[0], 1);
}

TEST_F(MetalIndirect, CommandsDoNotChangeOnTheirWay) {
  encode(0, b_, a_, true);
  Object* made = run({0, 1}, {a_, b_, factor_});
  send(command(0), "setKernelBuffer:offset:atIndex:", a_, u64{0}, u64{0});
  EXPECT_EQ(count(kIndirectBusy), 1u);
  wait(made);
  send(command(0), "setKernelBuffer:offset:atIndex:", a_, u64{0}, u64{0});
  EXPECT_EQ(count(kIndirectBusy), 1u);
}

TEST_F(MetalIndirect, PipelinesAreMadeForThem) {
  send(command(0), "setComputePipelineState:", pipeline(kScale));
  EXPECT_EQ(count(kIndirectPipeline), 1u);
}

TEST_F(MetalIndirect, RangesAndLimits) {
  EXPECT_EQ(command(2), nullptr);
  EXPECT_EQ(count(kIndirectRange), 1u);
  wait(run({1, 2}, {a_}));
  wait(run({0, 0}, {a_}));
  EXPECT_EQ(count(kIndirectRange), 3u);
  EXPECT_EQ(make_commands(0, 31), nullptr);
  EXPECT_EQ(make_commands(1, 32), nullptr);
  EXPECT_EQ(count(kIndirectMade), 2u);
  commands_ = make_commands(1, 2);
  send(command(0), "setKernelBuffer:offset:atIndex:", a_, u64{0}, u64{2});
  EXPECT_EQ(count(kIndex), 1u);
}

// A command that nobody encoded.
TEST_F(MetalIndirect, CommandsHaveAPipeline) {
  wait(run({0, 1}, {a_}));
  EXPECT_EQ(count(kPipeline), 1u);
}

}  // namespace
}  // namespace doorbell::emu::metal
