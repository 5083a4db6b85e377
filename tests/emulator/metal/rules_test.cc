// The emulated Objective-C runtime and Metal: what they do, and each rule broken. Messages are sent
// as any client does, through objc_msgSend.
#include "emulator/metal/rules.h"

#include <algorithm>
#include <vector>

#include "tests/emulator/metal/metal_client.h"

namespace doorbell::emu::metal {
namespace {

TEST_F(MetalRules, AKernelRunsWhenItIsWaitedFor) {
  Object *out = buffer(32), *in = buffer(32), *made = commands(), *open = encoder(made);
  for (int i = 0; i < 8; ++i) floats(in)[i] = static_cast<float>(i), floats(out)[i] = -1;
  send(open, "setComputePipelineState:", pipeline(kScale));
  set_arguments(open, out, in, 3);
  dispatch(open, {2, 1, 1}, {4, 1, 1});
  send(open, "endEncoding");
  send(made, "commit");
  EXPECT_EQ(send<u64>(made, "status"), 2u);
  send(made, "waitUntilCompleted");
  EXPECT_EQ(send<u64>(made, "status"), 4u);
  EXPECT_EQ(floats(out)[7], 21);
  EXPECT_GE(send<f64>(made, "GPUEndTime"), send<f64>(made, "GPUStartTime"));
  EXPECT_EQ(errors(), 0u);
}

TEST_F(MetalRules, ItemsMeetAtBarriers) {
  const char* source =
      "[[max_total_threads_per_threadgroup(4)]] kernel void scale(device int* p0 [[buffer(0)]], "
      "uint3 group [[threadgroup_position_in_grid]], "
      "uint3 item [[thread_position_in_threadgroup]]) {\n"
      "  threadgroup int l0[4] __attribute__((aligned(16)));\n"
      "  l0[item.x] = (int)(item.x * 10 + group.x);\n"
      "  metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup);\n"
      "  p0[group.x * 4 + item.x] = l0[3 - item.x];\n}\n";
  Object *out = buffer(32), *made = commands(), *open = encoder(made);
  send(open, "setComputePipelineState:", pipeline(source));
  send(open, "setBuffer:offset:atIndex:", out, u64{0}, u64{0});
  dispatch(open, {2, 1, 1}, {4, 1, 1});
  send(open, "endEncoding");
  send(made, "commit");
  send(made, "waitUntilCompleted");
  const int* numbers = send<int*>(out, "contents");
  EXPECT_EQ(std::vector<int>(numbers, numbers + 8),
            (std::vector<int>{30, 20, 10, 0, 31, 21, 11, 1}));
  EXPECT_EQ(errors(), 0u);
}

TEST_F(MetalRules, ABarrierThatSomeItemsLackIsFound) {
  const char* source =
      "[[max_total_threads_per_threadgroup(4)]] kernel void scale("
      "uint3 item [[thread_position_in_threadgroup]]) {\n"
      "  if (item.x > 1) metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup);\n}\n";
  Object *made = commands(), *open = encoder(made);
  send(open, "setComputePipelineState:", pipeline(source));
  dispatch(open, {1, 1, 1}, {4, 1, 1});
  send(open, "endEncoding");
  send(made, "commit");
  send(made, "waitUntilCompleted");
  EXPECT_EQ(count(kBarrier), 1u);
}

// Element e of thread l is that of row l / 2 % 4 + 4 (l / 16) and column 2 (l % 2) + 4 (l / 8 % 2)
// + e, here worked out by hand for some.
TEST_F(MetalRules, ASimdgroupMultipliesMatrices) {
  const char* source =
      "[[max_total_threads_per_threadgroup(64)]] kernel void scale(device float* p0 [[buffer(0)]], "
      "device const float* p1 [[buffer(1)]], uint3 item [[thread_position_in_threadgroup]]) {\n"
      "  metal::simdgroup_half8x8 a, b;\n  metal::simdgroup_float8x8 c;\n"
      "  for (int e = 0; e < 2; ++e) {\n"
      "    a.thread_elements()[e] = (half)p1[item.x * 2 + e];\n"
      "    b.thread_elements()[e] = (half)p1[128 + item.x * 2 + e];\n"
      "    c.thread_elements()[e] = 1000;\n  }\n"
      "  metal::simdgroup_multiply_accumulate(c, a, b, c);\n"
      "  for (int e = 0; e < 2; ++e) p0[item.x * 2 + e] = c.thread_elements()[e];\n}\n";
  Object *out = buffer(512), *in = buffer(1024), *made = commands(), *open = encoder(made);
  std::fill_n(floats(in), 256, 0.0f);
  // Of the first simdgroup: A(5, 6) = 3 is element 0 of thread 27, B(6, 3) = 7 element 1 of thread
  // 21; their product is C(5, 3), element 1 of thread 19.
  floats(in)[27 * 2] = 3;
  floats(in)[128 + 21 * 2 + 1] = 7;
  // Of the second: A(0, 0) = 2 and B(0, 7) = 5, elements 0 of thread 0 and 1 of thread 9.
  floats(in)[64] = 2;
  floats(in)[128 + 64 + 9 * 2 + 1] = 5;
  send(open, "setComputePipelineState:", pipeline(source));
  send(open, "setBuffer:offset:atIndex:", out, u64{0}, u64{0});
  send(open, "setBuffer:offset:atIndex:", in, u64{0}, u64{1});
  dispatch(open, {1, 1, 1}, {64, 1, 1});
  send(open, "endEncoding");
  send(made, "commit");
  send(made, "waitUntilCompleted");
  std::vector<float> want(128, 1000);
  want[19 * 2 + 1] = 1021;
  want[64 + 9 * 2 + 1] = 1010;
  EXPECT_EQ(std::vector<float>(floats(out), floats(out) + 128), want);
  EXPECT_EQ(errors(), 0u);
}

TEST_F(MetalRules, AllThreadsOfASimdgroupMultiply) {
  const char* source =
      "kernel void scale(uint3 item [[thread_position_in_threadgroup]]) {\n"
      "  metal::simdgroup_float8x8 a{}, b{}, c{};\n"
      "  if (item.x != 5) metal::simdgroup_multiply_accumulate(c, a, b, c);\n}\n";
  Object* multiplies = pipeline(source);
  for (const u64 items : {u64{32}, u64{16}}) {
    Object *made = commands(), *open = encoder(made);
    send(open, "setComputePipelineState:", multiplies);
    dispatch(open, {1, 1, 1}, {items, 1, 1});
    send(open, "endEncoding");
    send(made, "commit");
    send(made, "waitUntilCompleted");
  }
  EXPECT_EQ(count(kSimdgroupRule), 2u);
}

TEST_F(MetalRules, ATextThatIsNoMslHasAReason) {
  std::string why;
  EXPECT_EQ(pipeline("kernel void scale(device float* p [[buffer(0)]]) { p[0] = q; }\n", &why),
            nullptr);
  EXPECT_NE(why.find("'q'"), std::string::npos) << why;
  EXPECT_EQ(errors(), 0u);
}

TEST_F(MetalRules, ObjectsAreAliveAndHaveTheMethod) {
  Object* gone = buffer(16);
  send(gone, "release");
  EXPECT_EQ(send<u64>(gone, "length"), 0u);
  EXPECT_EQ(count(kAlive), 1u);
  EXPECT_EQ(send<u64>(device_, "contents"), 0u);
  EXPECT_EQ(count(kSelector), 1u);
  EXPECT_EQ(send<u64>(nullptr, "length"), 0u);
  EXPECT_EQ(errors(), 2u);
}

TEST_F(MetalRules, AutoreleasedObjectsHaveAPool) {
  call<void(void*)>("objc_autoreleasePoolPop")(pool_);
  commands();
  EXPECT_EQ(count(kPool), 1u);
  call<void(void*)>("objc_autoreleasePoolPop")(pool_);
  EXPECT_EQ(count(kPool), 2u);
  pool_ = call<void*()>("objc_autoreleasePoolPush")();
}

TEST_F(MetalRules, CommandBuffersHaveOneEncoderAndAreCommittedOnce) {
  Object *made = commands(), *open = encoder(made);
  EXPECT_EQ(encoder(made), nullptr);
  EXPECT_EQ(count(kOneEncoder), 1u);
  send(made, "commit");
  EXPECT_EQ(count(kOneEncoder), 2u);
  send(made, "waitUntilCompleted");
  EXPECT_EQ(count(kWait), 1u);
  send(open, "endEncoding");
  send(open, "endEncoding");
  EXPECT_EQ(count(kEnded), 1u);
  send(made, "commit");
  send(made, "commit");
  EXPECT_EQ(encoder(made), nullptr);
  EXPECT_EQ(count(kCommit), 2u);
  commands(), commands();
  EXPECT_EQ(count(kRoom), 0u);
  commands();
  EXPECT_EQ(count(kRoom), 1u);
}

TEST_F(MetalRules, AnOpenEncoderIsNotReleased) {
  void* inner = call<void*()>("objc_autoreleasePoolPush")();
  encoder(commands());
  call<void(void*)>("objc_autoreleasePoolPop")(inner);
  EXPECT_GE(count(kEnded), 1u);
}

TEST_F(MetalRules, ArgumentsAreWithinTheirLimits) {
  Object *made = commands(), *open = encoder(made), *small = buffer(16);
  std::vector<u8> bytes(4097);
  send(open, "setBuffer:offset:atIndex:", small, u64{16}, u64{0});
  EXPECT_EQ(count(kOffset), 1u);
  send(open, "setBuffer:offset:atIndex:", small, u64{0}, u64{31});
  EXPECT_EQ(count(kIndex), 1u);
  send(open, "setBytes:length:atIndex:", bytes.data(), u64{4097}, u64{0});
  EXPECT_EQ(count(kBytes), 1u);
  dispatch(open, {1, 1, 1}, {1, 1, 1});
  EXPECT_EQ(count(kPipeline), 1u);
  send(open, "setComputePipelineState:", pipeline(kScale));
  dispatch(open, {1, 1, 1}, {5, 1, 1});
  dispatch(open, {0, 1, 1}, {4, 1, 1});
  EXPECT_EQ(count(kGroups), 2u);
  dispatch(open, {1, 1, 1}, {4, 1, 1});
  EXPECT_EQ(count(kBound), 1u);
  set_arguments(open, small, small, 1);
  send(open, "setBuffer:offset:atIndex:", small, u64{2}, u64{0});
  dispatch(open, {1, 1, 1}, {4, 1, 1});
  EXPECT_EQ(count(kOffset), 2u);
  send(open, "endEncoding");
}

TEST_F(MetalRules, StoresBesideABufferAreSeen) {
  Object *out = buffer(16), *in = buffer(32), *made = commands(), *open = encoder(made);
  std::fill_n(floats(in), 8, 1.0f);
  send(open, "setComputePipelineState:", pipeline(kScale));
  set_arguments(open, out, in, 1);
  dispatch(open, {2, 1, 1}, {4, 1, 1});  // 32 bytes
  send(open, "endEncoding");
  send(made, "commit");
  send(made, "waitUntilCompleted");
  EXPECT_EQ(count(kOutside), 1u);
}

TEST_F(MetalRules, CopiesAreWholeWordsWithinBuffers) {
  Object *made = commands(), *from = buffer(64), *to = buffer(16);
  Object* open = send<Object*>(made, "blitCommandEncoder");
  const auto copy = [&](Object* target, u64 from_offset, u64 to_offset, u64 bytes) {
    send(open, "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", from, from_offset,
         target, to_offset, bytes);
  };
  copy(to, 48, 0, 16);
  EXPECT_EQ(count(kBlit), 0u);
  copy(to, 52, 0, 16);
  copy(to, 0, 4, 16);
  copy(to, 0, 0, 6);
  copy(from, 0, 4, 16);
  EXPECT_EQ(count(kBlit), 4u);
  send(open, "endEncoding");
}

TEST_F(MetalRules, BuffersHaveALength) {
  EXPECT_EQ(buffer(0), nullptr);
  u8 memory[64];
  EXPECT_EQ(send<Object*>(device_, "newBufferWithBytesNoCopy:length:options:deallocator:",
                          static_cast<void*>(memory), u64{64}, u64{0}, static_cast<void*>(nullptr)),
            nullptr);
  EXPECT_EQ(count(kLength), 2u);
}

// A rule that is an error fails what runs next.
TEST_F(MetalRules, ErrorsFailTheNextCommandBuffer) {
  ASSERT_TRUE(runtime()->checks.configure("error", all_checks()));
  send<u64>(device_, "contents");
  Object* made = commands();
  send(made, "commit");
  send(made, "waitUntilCompleted");
  EXPECT_EQ(send<u64>(made, "status"), 5u);
  Object* why = send<Object*>(send<Object*>(made, "error"), "localizedDescription");
  EXPECT_STREQ(send<const char*>(why, "UTF8String"),
               "METAL-OBJ-002: contents is sent to MTLDevice");
}

// Of what is left when a client is done.
TEST_F(MetalRules, ReferencesThatAreLeftAreCounted) {
  send(queue_, "release");
  const usize before = runtime()->live_objects();
  Object* left = buffer(16);
  send<Object*>(left, "retain");
  send(left, "release");
  runtime()->expect_live(before);
  EXPECT_EQ(count(kLeak), 1u);
  send(left, "release");
  runtime()->expect_live(before);
  EXPECT_EQ(count(kLeak), 1u);
}

}  // namespace
}  // namespace doorbell::emu::metal
