// The Objective-C runtime and Metal, from C++: every object is an Id, every method a message. No
// Apple SDK is needed to compile this: the declarations are our own, with the ABI of libobjc and of
// the Metal framework [Apple, "Objective-C Runtime", "Metal"; apple/metal-cpp, Foundation/NSPrivate
// and Metal/MTLHeaderBridge for the selectors], which are opened when a device is first asked for.
// An emulated runtime gives a table of the same functions instead.
//
// A message is a call of objc_msgSend with the method's own signature. Numbers are NSUInteger (64
// bits) unless said otherwise. On Apple silicon all results come as of a function; on x86-64, too,
// of what is used here: no method that returns a struct in memory.
//
// Ownership follows Apple's rule: new..., alloc and copy give a reference to the caller, all others
// one that the innermost autorelease pool of the thread drops [Apple, "Advanced Memory Management
// Programming Guide", "Memory Management Policy"].
//
// Thread safety: devices, queues, buffers, libraries and pipelines may be used from any thread; a
// command buffer and its encoder belong to one at a time [Apple, "Metal Programming Guide",
// "Multithreading"].
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/os/fork.h"
#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::metal {

using Id = struct ObjcObject*;
using Class = struct ObjcClass*;
using Sel = const struct ObjcSelector*;

// MTLSize, by value.
struct Size {
  u64 width = 1, height = 1, depth = 1;
};
// NSOperatingSystemVersion, by value.
struct OsVersion {
  i64 major = 0, minor = 0, patch = 0;
};

// [Metal/MTLResource.h, MTLCommandBuffer.h, MTLDevice.h, MTLLibrary.h]
inline constexpr u64 kStorageShared = 0;  // MTLResourceStorageModeShared
enum class Status : u64 { NotEnqueued, Enqueued, Committed, Scheduled, Completed, Error };
inline constexpr i64 kFamilyApple7 = 1007;        // MTLGPUFamilyApple7: M1
inline constexpr i64 kFamilyApple9 = 1009;        // MTLGPUFamilyApple9: M3
inline constexpr u64 kLanguage3_1 = 3 << 16 | 1;  // MTLLanguageVersion3_1

// Name here, selector.
// clang-format off: a list, not calls
#define DOORBELL_METAL_SELECTORS(F)                                                           \
  F(release, "release")                                                                       \
  F(retain, "retain")                                                                         \
  F(utf8_string, "UTF8String")                                                                \
  F(string_with_utf8, "stringWithUTF8String:")                                                \
  F(localized_description, "localizedDescription")                                            \
  F(count, "count")                                                                           \
  F(object_at, "objectAtIndex:")                                                              \
  F(new_object, "new")                                                                        \
  F(process_info, "processInfo")                                                              \
  F(is_at_least, "isOperatingSystemAtLeastVersion:")                                          \
  F(name, "name")                                                                             \
  F(supports_family, "supportsFamily:")                                                       \
  F(has_unified_memory, "hasUnifiedMemory")                                                   \
  F(max_buffer_length, "maxBufferLength")                                                     \
  F(working_set, "recommendedMaxWorkingSetSize")                                              \
  F(max_group_memory, "maxThreadgroupMemoryLength")                                           \
  F(new_queue, "newCommandQueueWithMaxCommandBufferCount:")                                   \
  F(new_buffer, "newBufferWithLength:options:")                                               \
  F(new_buffer_no_copy, "newBufferWithBytesNoCopy:length:options:deallocator:")               \
  F(new_library, "newLibraryWithSource:options:error:")                                       \
  F(new_function, "newFunctionWithName:")                                                     \
  F(new_pipeline, "newComputePipelineStateWithFunction:error:")                               \
  F(set_fast_math, "setFastMathEnabled:")                                                     \
  F(set_language, "setLanguageVersion:")                                                      \
  F(max_items, "maxTotalThreadsPerThreadgroup")                                               \
  F(set_function, "setComputeFunction:")                                                      \
  F(set_indirect, "setSupportIndirectCommandBuffers:")                                        \
  F(new_pipeline_of, "newComputePipelineStateWithDescriptor:options:reflection:error:")       \
  F(set_command_types, "setCommandTypes:")                                                    \
  F(set_inherit_buffers, "setInheritBuffers:")                                                \
  F(set_inherit_pipeline, "setInheritPipelineState:")                                         \
  F(set_max_kernel_buffers, "setMaxKernelBufferBindCount:")                                   \
  F(new_indirect, "newIndirectCommandBufferWithDescriptor:maxCommandCount:options:")          \
  F(command_at, "indirectComputeCommandAtIndex:")                                             \
  F(set_kernel_buffer, "setKernelBuffer:offset:atIndex:")                                     \
  F(set_barrier, "setBarrier")                                                                \
  F(concurrent_dispatch, "concurrentDispatchThreadgroups:threadsPerThreadgroup:")             \
  F(use_resources, "useResources:count:usage:")                                               \
  F(execute_commands, "executeCommandsInBuffer:withRange:")                                   \
  F(contents, "contents")                                                                     \
  F(length, "length")                                                                         \
  F(command_buffer, "commandBuffer")                                                          \
  F(compute_encoder, "computeCommandEncoder")                                                 \
  F(blit_encoder, "blitCommandEncoder")                                                       \
  F(set_pipeline, "setComputePipelineState:")                                                 \
  F(set_buffer, "setBuffer:offset:atIndex:")                                                  \
  F(set_bytes, "setBytes:length:atIndex:")                                                    \
  F(dispatch, "dispatchThreadgroups:threadsPerThreadgroup:")                                  \
  F(copy_buffer, "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:")              \
  F(end_encoding, "endEncoding")                                                              \
  F(commit, "commit")                                                                         \
  F(wait, "waitUntilCompleted")                                                               \
  F(status, "status")                                                                         \
  F(error, "error")                                                                           \
  F(gpu_start, "GPUStartTime")                                                                \
  F(gpu_end, "GPUEndTime")
// clang-format on

// The functions of the runtime and of Metal that are called by name.
// clang-format off: a list, not calls
#define DOORBELL_METAL_FUNCTIONS(F)                                                           \
  F(objc_getClass, Class, (const char*))                                                      \
  F(sel_registerName, Sel, (const char*))                                                     \
  F(objc_msgSend, void, ())                                                                   \
  F(object_getClass, Class, (Id))                                                             \
  F(objc_autoreleasePoolPush, void*, ())                                                      \
  F(objc_autoreleasePoolPop, void, (void*))                                                   \
  F(MTLCopyAllDevices, Id, ())
// clang-format on

// A function by its name, or null.
using FindSymbol = std::function<void*(const char*)>;

struct Api {
#define F(name, result, arguments) result(*name) arguments = nullptr;
  DOORBELL_METAL_FUNCTIONS(F)
#undef F
  struct Selectors {
#define F(name, text) Sel name = nullptr;
    DOORBELL_METAL_SELECTORS(F)
#undef F
  } sel;
  Class string = nullptr, process_info = nullptr, compile_options = nullptr;
  Class pipeline_descriptor = nullptr, indirect_descriptor = nullptr;
  os::ForkGuard process;

  Result<void> check_process() const { return process.check("Metal's devices"); }

  template <class R = void, class... Args>
  R send(Id to, Sel selector, Args... arguments) const {
    return reinterpret_cast<R (*)(Id, Sel, Args...)>(objc_msgSend)(to, selector, arguments...);
  }
  template <class R = Id, class... Args>
  R send(Class to, Sel selector, Args... arguments) const {
    return send<R>(reinterpret_cast<Id>(to), selector, arguments...);
  }
  // Autoreleased.
  Id string_of(const std::string& text) const {
    return send<Id>(string, sel.string_with_utf8, text.c_str());
  }
  std::string text_of(Id string) const;
  // Of an NSError, or "no reason given".
  std::string reason(Id error) const;
};

// Of libobjc and the frameworks; once for the process. NotFound where they are not, as on Linux.
Result<const Api*> load_api();
// Of a table; made anew at each call.
Result<std::unique_ptr<const Api>> load_api(const FindSymbol& find, std::string_view where);

// One reference to an object.
class Owned {
 public:
  Owned() = default;
  // Takes over the caller's reference.
  Owned(const Api& api, Id object) : api_(&api), object_(object) {}
  // Adds one to that of a pool.
  static Owned retained(const Api& api, Id object) {
    return Owned(api, object == nullptr ? nullptr : api.send<Id>(object, api.sel.retain));
  }
  Owned(Owned&& other) noexcept { *this = std::move(other); }
  Owned& operator=(Owned&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(object_, other.object_);
    return *this;
  }
  ~Owned() {
    if (object_ != nullptr && api_->process.is_same_process())
      api_->send(object_, api_->sel.release);
  }
  Id get() const { return object_; }

 private:
  const Api* api_ = nullptr;
  Id object_ = nullptr;
};

// Drops what methods give back autoreleased when it ends.
class Pool {
 public:
  explicit Pool(const Api& api) : api_(api), pool_(api.objc_autoreleasePoolPush()) {}
  ~Pool() { api_.objc_autoreleasePoolPop(pool_); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

 private:
  const Api& api_;
  void* const pool_;
};

}  // namespace doorbell::metal
