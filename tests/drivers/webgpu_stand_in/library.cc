// A WebGPU library that has memory and commands, but computes nothing, and fails when it is told
// to: what no library can be made to do here. It calls back in wgpuInstanceProcessEvents, as
// CallbackMode AllowProcessEvents asks for. On a lost device calls succeed and do nothing, and what
// waits for it is called back, as in Dawn and WebGPU [WebGPU 22.1 "Device Loss"].
#include "tests/drivers/webgpu_stand_in/library.h"

#include <cstring>
#include <functional>
#include <vector>

#include "drivers/webgpu/api.h"

namespace doorbell::webgpu {
namespace {

constexpr u32 kFailed = 3;  // WGPUQueueWorkDoneStatus_Error, WGPUMapAsyncStatus_Error

struct Object {
  u64 usage = 0;
  std::vector<u8> bytes;                        // of a buffer
  std::vector<std::function<void()>> commands;  // of an encoder and a command buffer
};

struct Scope {
  ErrorFilter filter;
  ErrorType error = ErrorType::NoError;
  std::string message;
};

struct Library {
  std::string fault;
  i64 objects = 0;
  std::vector<std::function<void()>> events;
  std::vector<Scope> scopes;
  LostCallback lost;
  UncapturedCallback uncaptured;
  bool is_lost = false;
};

Library& library() {
  static Library& all = *new Library;
  return all;
}

bool fails(std::string_view fault) { return library().fault == fault; }

template <class Handle>
Handle make() {
  ++library().objects;
  return reinterpret_cast<Handle>(new Object);
}
template <class Handle>
Object& object(Handle handle) {
  return *reinterpret_cast<Object*>(handle);
}
template <class Handle>
void release(Handle handle) {
  --library().objects;
  delete &object(handle);
}

void later(std::function<void()> event) { library().events.push_back(std::move(event)); }

void lose(LostReason reason, std::string message) {
  Library& all = library();
  if (all.is_lost) return;
  all.is_lost = true;
  later([&all, reason, message] {
    const LostCallback& lost = all.lost;
    lost.callback(nullptr, reason, std::string_view(message), lost.first, lost.second);
  });
}

void raise(ErrorType type, std::string message) {
  Library& all = library();
  if (all.is_lost) return;
  for (usize i = all.scopes.size(); i-- > 0;) {
    Scope& scope = all.scopes[i];
    if (static_cast<u32>(scope.filter) + 1 != static_cast<u32>(type)) continue;
    if (scope.error == ErrorType::NoError) scope = {scope.filter, type, std::move(message)};
    return;
  }
  later([&all, type, message] {
    const UncapturedCallback& callback = all.uncaptured;
    callback.callback(nullptr, type, std::string_view(message), callback.first, callback.second);
  });
}

}  // namespace
}  // namespace doorbell::webgpu

using namespace doorbell;          // the functions below are C's
using namespace doorbell::webgpu;  // as above

extern "C" {

void stand_in_fail(const char* fault) { library().fault = fault; }
i64 stand_in_objects() { return library().objects; }

#ifndef STAND_IN_WITHOUT_LIMITS
u32 wgpuGetInstanceLimits(void*) { return kSuccess; }
#endif
#ifdef STAND_IN_VERSION
u32 wgpuGetVersion() { return STAND_IN_VERSION << 24; }
#endif

Instance wgpuCreateInstance(const void*) {
  return fails("no instance") ? nullptr : reinterpret_cast<Instance>(&library());
}
void wgpuInstanceProcessEvents(Instance) {
  for (const auto& event : std::exchange(library().events, {})) event();
}
Future wgpuInstanceRequestAdapter(Instance, const AdapterOptions*, AdapterCallback callback) {
  later([callback] {
    const bool none = fails("no adapter");
    callback.callback(none ? 3 : kSuccess, none ? nullptr : make<Adapter>(),
                      none ? std::string_view("there is none") : "", callback.first,
                      callback.second);
  });
  return {1};
}
u32 wgpuAdapterGetInfo(Adapter, AdapterInfo* info) {
  *info = {};
  info->device = std::string_view("Stand-in");
  info->backend = fails("null backend") ? BackendType::Null : BackendType::Vulkan;
  info->type = AdapterType::DiscreteGpu;
  return kSuccess;
}
void wgpuAdapterInfoFreeMembers(AdapterInfo) {}
u32 wgpuAdapterGetLimits(Adapter, Limits* limits) {
  *limits = {};
  limits->textures_and_groups[11] = 8;
  limits->uniform_binding_bytes = 65536;
  limits->storage_binding_bytes = limits->buffer_bytes = 1 << 28;
  limits->uniform_alignment = limits->storage_alignment = 256;
  limits->group_storage_bytes = 16384;
  limits->group_items = limits->group_axis[0] = limits->group_axis[1] = 256;
  limits->group_axis[2] = 64;
  limits->groups = 65535;
  return kSuccess;
}
void wgpuAdapterGetFeatures(Adapter, Features* features) { *features = {}; }
void wgpuSupportedFeaturesFreeMembers(Features) {}
Future wgpuAdapterRequestDevice(Adapter, const DeviceDescriptor* descriptor,
                                DeviceCallback callback) {
  Library& all = library();
  all.lost = descriptor->lost;
  all.uncaptured = descriptor->uncaptured;
  all.is_lost = false;
  all.scopes.clear();
  const bool none = fails("no device");
  if (none) lose(LostReason::FailedCreation, "the device was not made");
  later([callback, none] {
    callback.callback(none ? 3 : kSuccess, none ? nullptr : make<Device>(),
                      none ? std::string_view("no memory for a device") : "", callback.first,
                      callback.second);
  });
  return {2};
}
Queue wgpuDeviceGetQueue(Device) { return make<Queue>(); }
void wgpuDeviceDestroy(Device) { lose(LostReason::Destroyed, "destroyed"); }

void wgpuDevicePushErrorScope(Device, ErrorFilter filter) {
  library().scopes.push_back({filter, ErrorType::NoError, ""});
}
Future wgpuDevicePopErrorScope(Device, ScopeCallback callback) {
  const Scope scope = library().scopes.back();
  library().scopes.pop_back();
  later([scope, callback] {
    callback.callback(kSuccess, scope.error, std::string_view(scope.message), callback.first,
                      callback.second);
  });
  return {3};
}

BufferHandle wgpuDeviceCreateBuffer(Device, const BufferDescriptor* descriptor) {
  if (fails("lost at a buffer")) lose(LostReason::Unknown, "it fell off the bus");
  if (fails("no memory")) raise(ErrorType::OutOfMemory, "4 bytes are left");
  if (fails("no buffer")) return nullptr;
  const BufferHandle made = make<BufferHandle>();
  object(made).usage = descriptor->usage;
  object(made).bytes.resize(descriptor->size);
  return made;
}
ShaderModule wgpuDeviceCreateShaderModule(Device, const ShaderModuleDescriptor*) {
  if (fails("bad module")) raise(ErrorType::Validation, "line 1: what is this?");
  return make<ShaderModule>();
}
BindGroupLayout wgpuDeviceCreateBindGroupLayout(Device, const BindGroupLayoutDescriptor*) {
  return make<BindGroupLayout>();
}
PipelineLayout wgpuDeviceCreatePipelineLayout(Device, const PipelineLayoutDescriptor*) {
  return make<PipelineLayout>();
}
ComputePipeline wgpuDeviceCreateComputePipeline(Device, const ComputePipelineDescriptor*) {
  if (fails("bad pipeline")) raise(ErrorType::Validation, "no entry point");
  // No scope takes it: it goes to the device's callback.
  if (fails("compiler crash")) raise(ErrorType::Internal, "the driver's compiler crashed");
  return make<ComputePipeline>();
}
BindGroup wgpuDeviceCreateBindGroup(Device, const BindGroupDescriptor*) {
  if (fails("bad bindings")) raise(ErrorType::Validation, "binding 1 is too small");
  return make<BindGroup>();
}
QuerySet wgpuDeviceCreateQuerySet(Device, const QuerySetDescriptor*) { return make<QuerySet>(); }
CommandEncoder wgpuDeviceCreateCommandEncoder(Device, const Labelled*) {
  return make<CommandEncoder>();
}

#ifndef STAND_IN_WITHOUT_SUBMIT
void wgpuQueueSubmit(Queue, usize count, const CommandBufferHandle* buffers) {
  if (fails("lost at a submission")) return lose(LostReason::Unknown, "it hangs");
  if (fails("bad submission")) return raise(ErrorType::Validation, "a buffer is destroyed");
  if (library().is_lost) return;
  for (usize i = 0; i < count; ++i)
    for (const auto& command : object(buffers[i]).commands) command();
}
#endif
void wgpuQueueWriteBuffer(Queue, BufferHandle buffer, u64 offset, const void* from, usize bytes) {
  std::memcpy(object(buffer).bytes.data() + offset, from, bytes);
}
Future wgpuQueueOnSubmittedWorkDone(Queue, DoneCallback callback) {
  const bool failed = fails("work fails");
  later([callback, failed] {
    callback.callback(failed ? kFailed : kSuccess,
                      failed ? std::string_view("the work failed") : "", callback.first,
                      callback.second);
  });
  return {4};
}
Future wgpuBufferMapAsync(BufferHandle, u64, usize, usize, DoneCallback callback) {
  if (fails("lost at a map")) lose(LostReason::Unknown, "it hangs");
  const bool failed = fails("bad map") || library().is_lost;
  later([callback, failed] {
    callback.callback(failed ? kFailed : kSuccess,
                      failed ? std::string_view("it is not to be mapped") : "", callback.first,
                      callback.second);
  });
  return {5};
}
const void* wgpuBufferGetConstMappedRange(BufferHandle buffer, usize offset, usize) {
  return object(buffer).bytes.data() + offset;
}
void wgpuBufferUnmap(BufferHandle) {}
void wgpuBufferDestroy(BufferHandle) {}

ComputePass wgpuCommandEncoderBeginComputePass(CommandEncoder, const ComputePassDescriptor*) {
  return make<ComputePass>();
}
void wgpuCommandEncoderCopyBufferToBuffer(CommandEncoder encoder, BufferHandle from, u64 start,
                                          BufferHandle to, u64 begin, u64 bytes) {
  object(encoder).commands.push_back([=] {
    std::memcpy(object(to).bytes.data() + begin, object(from).bytes.data() + start, bytes);
  });
}
void wgpuCommandEncoderResolveQuerySet(CommandEncoder, QuerySet, u32, u32, BufferHandle, u64) {}
CommandBufferHandle wgpuCommandEncoderFinish(CommandEncoder encoder, const Labelled*) {
  const CommandBufferHandle made = make<CommandBufferHandle>();
  object(made).commands = object(encoder).commands;
  return made;
}
void wgpuComputePassEncoderSetPipeline(ComputePass, ComputePipeline) {}
void wgpuComputePassEncoderSetBindGroup(ComputePass, u32, BindGroup, usize, const u32*) {}
void wgpuComputePassEncoderDispatchWorkgroups(ComputePass, u32, u32, u32) {}
void wgpuComputePassEncoderEnd(ComputePass) {}

#define RELEASE(Type, Handle) \
  void wgpu##Type##Release(Handle handle) { release(handle); }
RELEASE(Adapter, Adapter)
RELEASE(Device, Device)
RELEASE(Queue, Queue)
RELEASE(Buffer, BufferHandle)
RELEASE(CommandEncoder, CommandEncoder)
RELEASE(CommandBuffer, CommandBufferHandle)
RELEASE(ComputePassEncoder, ComputePass)
RELEASE(BindGroup, BindGroup)
RELEASE(BindGroupLayout, BindGroupLayout)
RELEASE(PipelineLayout, PipelineLayout)
RELEASE(ComputePipeline, ComputePipeline)
RELEASE(ShaderModule, ShaderModule)
RELEASE(QuerySet, QuerySet)
#undef RELEASE
}
