// The functions of webgpu.h that the driver calls. Nothing is included or linked: the declarations
// are our own, with the ABI of the standard header, which wgpu-native 29 and later and Dawn since
// December 2025 share [webgpu-native/webgpu-headers, webgpu.h of 2026-07-10; wgpu 0.32.0 on PyPI,
// wgpu/resources/webgpu.h, has the same]. The library is opened when a device is first asked for.
// Functions and features with "native" in their names are wgpu-native's own [the same wheel,
// wgpu/resources/wgpu.h], and absent elsewhere.
//
// Thread safety: the libraries' functions may be called from any thread; an encoder belongs to one
// at a time.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/os/fork.h"
#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::webgpu {

// Objects.
using Instance = struct InstanceObject*;
using Adapter = struct AdapterObject*;
using Device = struct DeviceObject*;
using Queue = struct QueueObject*;
using BufferHandle = struct BufferObject*;
using ShaderModule = struct ShaderModuleObject*;
using ComputePipeline = struct ComputePipelineObject*;
using BindGroup = struct BindGroupObject*;
using BindGroupLayout = struct BindGroupLayoutObject*;
using PipelineLayout = struct PipelineLayoutObject*;
using CommandEncoder = struct CommandEncoderObject*;
using CommandBufferHandle = struct CommandBufferObject*;
using ComputePass = struct ComputePassObject*;
using QuerySet = struct QuerySetObject*;

struct StringView {
  const char* data = nullptr;
  usize length = SIZE_MAX;  // WGPU_STRLEN: up to its 0; with null data: none

  StringView() = default;
  StringView(std::string_view text) : data(text.data()), length(text.size()) {}
  std::string_view view() const {
    if (data == nullptr) return {};
    return length == SIZE_MAX ? std::string_view(data) : std::string_view(data, length);
  }
};

// WGPUSType of a chained struct.
enum class SType : u32 { ShaderSourceWgsl = 2 };
struct Chained {
  Chained* next = nullptr;
  SType type{};
};

// WGPUFeatureName, and WGPUNativeFeature from 0x00030000 on.
enum class Feature : u32 {
  TimestampQuery = 9,
  ShaderF16 = 11,
  Subgroups = 18,
  NativeShaderF64 = 0x3001d,
  NativeSubgroup = 0x30021,
  NativeShaderInt64 = 0x30026
};
enum class BackendType : u32 {
  Undefined,
  Null,
  WebGpu,
  D3d11,
  D3d12,
  Metal,
  Vulkan,
  OpenGl,
  OpenGles
};
enum class AdapterType : u32 { DiscreteGpu = 1, IntegratedGpu, Cpu, Unknown };
enum class ErrorType : u32 { NoError = 1, Validation, OutOfMemory, Internal, Unknown };
enum class ErrorFilter : u32 { Validation = 1, OutOfMemory, Internal };
enum class BindingType : u32 { Uniform = 2, Storage, ReadOnlyStorage };
enum class PowerPreference : u32 { Undefined, LowPower, HighPerformance };
enum class LostReason : u32 { Unknown = 1, Destroyed, CallbackCancelled, FailedCreation };
enum class CallbackMode : u32 { AllowProcessEvents = 2 };
enum class QueryType : u32 { Timestamp = 2 };
inline constexpr u32 kSuccess = 1;       // of all WGPU...Status
inline constexpr u32 kError = 3;         // WGPUQueueWorkDoneStatus_Error
inline constexpr u64 kStageCompute = 4;  // WGPUShaderStage_Compute
inline constexpr u64 kMapRead = 1;       // WGPUMapMode_Read
// WGPUBufferUsage.
inline constexpr u64 kUsageMapRead = 1, kUsageCopyFrom = 4, kUsageCopyTo = 8, kUsageUniform = 0x40,
                     kUsageStorage = 0x80, kUsageQueryResolve = 0x200;

struct Limits {
  Chained* next = nullptr;
  u32 textures_and_groups[14] = {};  // maxTextureDimension1D ... maxUniformBuffersPerShaderStage
  u64 uniform_binding_bytes = 0, storage_binding_bytes = 0;
  u32 uniform_alignment = 0, storage_alignment = 0;
  u32 vertex_buffers = 0;
  u64 buffer_bytes = 0;
  u32 vertices_and_colors[5] = {};
  u32 group_storage_bytes = 0, group_items = 0, group_axis[3] = {}, groups = 0;
  u32 immediate_bytes = 0;

  u32 storage_buffers() const { return textures_and_groups[11]; }
};
static_assert(sizeof(Limits) == 152);

struct AdapterInfo {
  Chained* next = nullptr;
  StringView vendor, architecture, device, description;
  BackendType backend{};
  AdapterType type{};
  u32 vendor_id = 0, device_id = 0, subgroup_min = 0, subgroup_max = 0;
};
static_assert(sizeof(AdapterInfo) == 96);

struct Features {
  usize count = 0;
  const Feature* features = nullptr;
};

struct AdapterOptions {
  Chained* next = nullptr;
  u32 feature_level = 2;  // WGPUFeatureLevel_Core
  PowerPreference power{};
  u32 fallback = 0;
  BackendType backend{};
  void* surface = nullptr;
};
struct Future {
  u64 id;
};

// What a callback gets last are the two pointers given here.
template <class Function>
struct CallbackInfo {
  Chained* next = nullptr;
  CallbackMode mode = CallbackMode::AllowProcessEvents;
  Function* callback = nullptr;
  void *first = nullptr, *second = nullptr;
};
using AdapterCallback = CallbackInfo<void(u32 status, Adapter, StringView, void*, void*)>;
using DeviceCallback = CallbackInfo<void(u32 status, Device, StringView, void*, void*)>;
using DoneCallback = CallbackInfo<void(u32 status, StringView, void*, void*)>;
using ScopeCallback = CallbackInfo<void(u32 status, ErrorType, StringView, void*, void*)>;
using LostCallback = CallbackInfo<void(const Device*, LostReason, StringView, void*, void*)>;
struct UncapturedCallback {
  Chained* next = nullptr;
  void (*callback)(const Device*, ErrorType, StringView, void*, void*) = nullptr;
  void *first = nullptr, *second = nullptr;
};

struct Labelled {
  Chained* next = nullptr;
  StringView label;
};
struct DeviceDescriptor {
  Chained* next = nullptr;
  StringView label;
  usize feature_count = 0;
  const Feature* features = nullptr;
  const Limits* limits = nullptr;
  Labelled queue;
  LostCallback lost;
  UncapturedCallback uncaptured;
};
static_assert(sizeof(DeviceDescriptor) == 144);

struct BufferDescriptor {
  Chained* next = nullptr;
  StringView label;
  u64 usage = 0, size = 0;
  u32 mapped = 0;
};
struct WgslSource {
  Chained chain{nullptr, SType::ShaderSourceWgsl};
  StringView code;
};
struct ShaderModuleDescriptor {
  Chained* next = nullptr;
  StringView label;
};
struct ComputeStage {
  Chained* next = nullptr;
  ShaderModule module{};
  StringView entry;
  usize constant_count = 0;
  const void* constants = nullptr;
};
struct ComputePipelineDescriptor {
  Chained* next = nullptr;
  StringView label;
  PipelineLayout layout{};
  ComputeStage compute;
};
struct LayoutEntry {
  Chained* next = nullptr;
  u32 binding = 0;
  u64 visibility = kStageCompute;
  u32 array_size = 0;
  struct {
    Chained* next = nullptr;
    BindingType type{};
    u32 dynamic_offset = 0;
    u64 least_bytes = 0;
  } buffer;
  struct {
    Chained* next = nullptr;
    u32 type = 0;
  } sampler;
  struct {
    Chained* next = nullptr;
    u32 sample_type = 0, dimension = 0, multisampled = 0;
  } texture, storage_texture;
};
static_assert(sizeof(LayoutEntry) == 120);
struct BindGroupLayoutDescriptor {
  Chained* next = nullptr;
  StringView label;
  usize count = 0;
  const LayoutEntry* entries = nullptr;
};
struct PipelineLayoutDescriptor {
  Chained* next = nullptr;
  StringView label;
  usize count = 0;
  const BindGroupLayout* layouts = nullptr;
  u32 immediate_bytes = 0;
};
struct BindGroupEntry {
  Chained* next = nullptr;
  u32 binding = 0;
  BufferHandle buffer{};
  u64 offset = 0, size = 0;
  void *sampler = nullptr, *texture = nullptr;
};
struct BindGroupDescriptor {
  Chained* next = nullptr;
  StringView label;
  BindGroupLayout layout{};
  usize count = 0;
  const BindGroupEntry* entries = nullptr;
};
struct TimestampWrites {
  Chained* next = nullptr;
  QuerySet set{};
  u32 begin = 0, end = 0;
};
struct ComputePassDescriptor {
  Chained* next = nullptr;
  StringView label;
  const TimestampWrites* timestamps = nullptr;
};
struct QuerySetDescriptor {
  Chained* next = nullptr;
  StringView label;
  QueryType type = QueryType::Timestamp;
  u32 count = 0;
};

struct Api {
  // Name after "wgpu", result, arguments.
  // clang-format off: a list, not calls
#define DOORBELL_WEBGPU_FUNCTIONS(F)                                                               \
  F(CreateInstance, Instance, (const void*))                                                       \
  F(InstanceRequestAdapter, Future, (Instance, const AdapterOptions*, AdapterCallback))            \
  F(InstanceProcessEvents, void, (Instance))                                                       \
  F(AdapterGetInfo, u32, (Adapter, AdapterInfo*))                                                  \
  F(AdapterInfoFreeMembers, void, (AdapterInfo))                                                   \
  F(AdapterGetLimits, u32, (Adapter, Limits*))                                                     \
  F(AdapterGetFeatures, void, (Adapter, Features*))                                                \
  F(SupportedFeaturesFreeMembers, void, (Features))                                                \
  F(AdapterRequestDevice, Future, (Adapter, const DeviceDescriptor*, DeviceCallback))              \
  F(AdapterRelease, void, (Adapter))                                                               \
  F(DeviceGetQueue, Queue, (Device))                                                               \
  F(DeviceDestroy, void, (Device))                                                                 \
  F(DeviceRelease, void, (Device))                                                                 \
  F(DevicePushErrorScope, void, (Device, ErrorFilter))                                             \
  F(DevicePopErrorScope, Future, (Device, ScopeCallback))                                          \
  F(DeviceCreateBuffer, BufferHandle, (Device, const BufferDescriptor*))                           \
  F(DeviceCreateShaderModule, ShaderModule, (Device, const ShaderModuleDescriptor*))               \
  F(DeviceCreateBindGroupLayout, BindGroupLayout, (Device, const BindGroupLayoutDescriptor*))      \
  F(DeviceCreatePipelineLayout, PipelineLayout, (Device, const PipelineLayoutDescriptor*))         \
  F(DeviceCreateComputePipeline, ComputePipeline, (Device, const ComputePipelineDescriptor*))      \
  F(DeviceCreateBindGroup, BindGroup, (Device, const BindGroupDescriptor*))                        \
  F(DeviceCreateCommandEncoder, CommandEncoder, (Device, const Labelled*))                         \
  F(DeviceCreateQuerySet, QuerySet, (Device, const QuerySetDescriptor*))                           \
  F(QueueSubmit, void, (Queue, usize, const CommandBufferHandle*))                                 \
  F(QueueWriteBuffer, void, (Queue, BufferHandle, u64, const void*, usize))                        \
  F(QueueOnSubmittedWorkDone, Future, (Queue, DoneCallback))                                       \
  F(QueueRelease, void, (Queue))                                                                   \
  F(BufferMapAsync, Future, (BufferHandle, u64, usize, usize, DoneCallback))                       \
  F(BufferGetConstMappedRange, const void*, (BufferHandle, usize, usize))                          \
  F(BufferUnmap, void, (BufferHandle))                                                             \
  F(BufferDestroy, void, (BufferHandle))                                                           \
  F(BufferRelease, void, (BufferHandle))                                                           \
  F(CommandEncoderBeginComputePass, ComputePass, (CommandEncoder, const ComputePassDescriptor*))   \
  F(CommandEncoderCopyBufferToBuffer, void,                                                        \
    (CommandEncoder, BufferHandle, u64, BufferHandle, u64, u64))                                   \
  F(CommandEncoderResolveQuerySet, void, (CommandEncoder, QuerySet, u32, u32, BufferHandle, u64))  \
  F(CommandEncoderFinish, CommandBufferHandle, (CommandEncoder, const Labelled*))                  \
  F(CommandEncoderRelease, void, (CommandEncoder))                                                 \
  F(CommandBufferRelease, void, (CommandBufferHandle))                                             \
  F(ComputePassEncoderSetPipeline, void, (ComputePass, ComputePipeline))                           \
  F(ComputePassEncoderSetBindGroup, void, (ComputePass, u32, BindGroup, usize, const u32*))        \
  F(ComputePassEncoderDispatchWorkgroups, void, (ComputePass, u32, u32, u32))                      \
  F(ComputePassEncoderEnd, void, (ComputePass))                                                    \
  F(ComputePassEncoderRelease, void, (ComputePass))                                                \
  F(BindGroupRelease, void, (BindGroup))                                                           \
  F(BindGroupLayoutRelease, void, (BindGroupLayout))                                               \
  F(PipelineLayoutRelease, void, (PipelineLayout))                                                 \
  F(ComputePipelineRelease, void, (ComputePipeline))                                               \
  F(ShaderModuleRelease, void, (ShaderModule))                                                     \
  F(QuerySetRelease, void, (QuerySet))
  // Of wgpu-native alone; may be null.
#define DOORBELL_WEBGPU_NATIVE_FUNCTIONS(F)                                                        \
  F(InstanceEnumerateAdapters, usize, (Instance, const void*, Adapter*))                           \
  F(DevicePoll, u32, (Device, u32, const u64*))                                                    \
  F(QueueGetTimestampPeriod, f32, (Queue))                                                         \
  F(DeviceCreateShaderModuleTrusted, ShaderModule, (Device, const ShaderModuleDescriptor*, u64))   \
  F(GetVersion, u32, ())
// clang-format on
#define F(name, result, arguments) result(*name) arguments = nullptr;
  DOORBELL_WEBGPU_FUNCTIONS(F)
  DOORBELL_WEBGPU_NATIVE_FUNCTIONS(F)
#undef F
  std::string library;  // that was opened
  // The libraries have threads and locks, which a forked child lacks.
  os::ForkGuard process;
  Result<void> check_process() const { return process.check("WebGPU's devices"); }
};

// The functions of the first of these libraries that opens, once for the process; an error says
// where to get one. Fails for one whose webgpu.h is older.
Result<const Api*> load_api(std::span<const std::string> libraries);

// An object with a release function. In a child that was forked it is left to the system.
template <class T>
class Owned {
 public:
  Owned() = default;
  Owned(const Api& api, T object, void (*Api::*release)(T))
      : api_(&api), object_(object), release_(release) {}
  Owned(Owned&& other) noexcept
      : api_(other.api_),
        object_(std::exchange(other.object_, nullptr)),
        release_(other.release_) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(object_, other.object_);
    std::swap(release_, other.release_);
    return *this;
  }
  ~Owned() {
    if (object_ != nullptr && api_->process.is_same_process()) (api_->*release_)(object_);
  }
  T get() const { return object_; }

 private:
  const Api* api_ = nullptr;
  T object_ = nullptr;
  void (*Api::*release_)(T) = nullptr;
};

}  // namespace doorbell::webgpu
