// A client of the emulated Objective-C runtime and Metal, for tests: it sends messages as any does,
// through objc_msgSend.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "emulator/metal/metal.h"
#include "emulator/metal/rules.h"

namespace doorbell::emu::metal {

inline constexpr const char* kScale =
    "#include <metal_stdlib>\nusing namespace metal;\n"
    "[[max_total_threads_per_threadgroup(4)]] kernel void scale(device float* p0 [[buffer(0)]], "
    "device const float* p1 [[buffer(1)]], constant long* n [[buffer(2)]], "
    "uint3 group [[threadgroup_position_in_grid]], "
    "uint3 item [[thread_position_in_threadgroup]]) {\n"
    "  p0[group.x * 4 + item.x] = p1[group.x * 4 + item.x] * (float)n[0];\n}\n";

class MetalRules : public ::testing::Test {
 protected:
  MetalRules() {
    install(std::make_unique<Runtime>());
    pool_ = call<void*()>("objc_autoreleasePoolPush")();
    Object* all = call<Object*()>("MTLCopyAllDevices")();
    device_ = send<Object*>(all, "objectAtIndex:", u64{0});
    send(all, "release");
    queue_ = send<Object*>(device_, "newCommandQueueWithMaxCommandBufferCount:", u64{3});
  }
  ~MetalRules() override {
    call<void(void*)>("objc_autoreleasePoolPop")(pool_);
    install(nullptr);
  }

  template <class Signature>
  static Signature* call(const char* name) {
    return reinterpret_cast<Signature*>(find_symbol(name));
  }
  template <class R = void, class... Args>
  static R send(void* to, const char* selector, Args... arguments) {
    const auto name = call<Selector(const char*)>("sel_registerName")(selector);
    return reinterpret_cast<R (*)(void*, Selector, Args...)>(find_symbol("objc_msgSend"))(
        to, name, arguments...);
  }
  static u64 count(const Check& rule) { return runtime()->checks.count(rule); }
  static u64 errors() { return runtime()->checks.reports().size(); }

  Object* text(const char* words) {
    return send<Object*>(call<void*(const char*)>("objc_getClass")("NSString"),
                         "stringWithUTF8String:", words);
  }
  // A pipeline of the kernel; null where it does not compile, with the error in `why`.
  Object* pipeline(const char* source, std::string* why = nullptr, bool is_indirect = false) {
    Object* options =
        send<Object*>(call<void*(const char*)>("objc_getClass")("MTLCompileOptions"), "new");
    send(options, "setFastMathEnabled:", false);
    Object* error = nullptr;
    Object* library = send<Object*>(device_, "newLibraryWithSource:options:error:", text(source),
                                    options, &error);
    if (library == nullptr) {
      const char* said =
          send<const char*>(send<Object*>(error, "localizedDescription"), "UTF8String");
      if (why != nullptr) *why = said;
      return nullptr;
    }
    Object* function = send<Object*>(library, "newFunctionWithName:", text("scale"));
    if (!is_indirect)
      return send<Object*>(device_, "newComputePipelineStateWithFunction:error:", function, &error);
    Object* descriptor = send<Object*>(
        call<void*(const char*)>("objc_getClass")("MTLComputePipelineDescriptor"), "new");
    send(descriptor, "setComputeFunction:", function);
    send(descriptor, "setSupportIndirectCommandBuffers:", true);
    return send<Object*>(device_, "newComputePipelineStateWithDescriptor:options:reflection:error:",
                         descriptor, u64{0}, static_cast<void*>(nullptr), &error);
  }
  Object* buffer(u64 bytes) {
    return send<Object*>(device_, "newBufferWithLength:options:", bytes, u64{0});
  }
  float* floats(Object* buffer) { return send<float*>(buffer, "contents"); }
  Object* encoder(Object* commands) { return send<Object*>(commands, "computeCommandEncoder"); }
  Object* commands() { return send<Object*>(queue_, "commandBuffer"); }
  void set_arguments(Object* encoder, Object* to, Object* from, i64 factor) {
    send(encoder, "setBuffer:offset:atIndex:", to, u64{0}, u64{0});
    send(encoder, "setBuffer:offset:atIndex:", from, u64{0}, u64{1});
    send(encoder, "setBytes:length:atIndex:", &factor, u64{8}, u64{2});
  }
  void dispatch(Object* encoder, Size groups, Size items) {
    send(encoder, "dispatchThreadgroups:threadsPerThreadgroup:", groups, items);
  }

  void* pool_;
  Object *device_, *queue_;
};

}  // namespace doorbell::emu::metal
