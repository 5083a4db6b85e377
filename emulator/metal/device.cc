// A device, what it makes, and libraries.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "emulator/metal/metal.h"
#include "emulator/metal/rules.h"

namespace doorbell::emu::metal {
namespace {

constexpr i64 kApple9 = 1009;

Runtime& here() { return *runtime(); }

Object* name(Device* self, Selector) {
  const Lock lock(here().mutex);
  return string_of(here(), self->name);
}
bool supports_family(Device*, Selector, i64 family) { return family > 1000 && family <= kApple9; }
bool has_unified_memory(Device*, Selector) { return true; }
u64 max_buffer_length(Device*, Selector) { return kMostBufferBytes; }
u64 max_group_memory(Device*, Selector) { return kGroupBytes; }

Object* new_queue(Device*, Selector, u64 room) {
  const Lock lock(here().mutex);
  Queue* made = here().make<Queue>("MTLCommandQueue");
  made->room = room;
  return &made->head;
}

Object* new_buffer(Device*, Selector, u64 length, u64 /*options*/) {
  const Lock lock(here().mutex);
  if (length == 0 || length > kMostBufferBytes) {
    here().broken(kLength, fmt::format("a buffer of {} bytes", length));
    return nullptr;
  }
  Buffer* made = here().make<Buffer>("MTLBuffer");
  made->storage.assign(length + 2 * kMargin, kMarginByte);
  made->contents = made->storage.data() + kMargin;
  made->length = length;
  return &made->head;
}

Object* new_buffer_no_copy(Device*, Selector, u8* memory, u64 length, u64 /*options*/, void*) {
  const Lock lock(here().mutex);
  const u64 page = static_cast<u64>(sysconf(_SC_PAGESIZE));
  if (length == 0 || length % page != 0 || reinterpret_cast<u64>(memory) % page != 0) {
    here().broken(kLength,
                  fmt::format("{} bytes at {} without a copy", length, static_cast<void*>(memory)));
    return nullptr;
  }
  Buffer* made = here().make<Buffer>("MTLBuffer");
  made->contents = memory;
  made->length = length;
  return &made->head;
}

Object* new_library(Device*, Selector, String* source, CompileOptions* options, Object** error) {
  // Compiling takes long: other threads go on.
  std::string text;
  bool fast_math;
  {
    const Lock lock(here().mutex);
    text = source->text;
    fast_math = options == nullptr || options->fast_math;
  }
  Result<std::shared_ptr<Kernel>> kernel = compile_kernel(text, fast_math);
  const Lock lock(here().mutex);
  if (!kernel) {
    set_error(here(), error, kernel.error().message);
    return nullptr;
  }
  Library* made = here().make<Library>("MTLLibrary");
  made->kernel = *kernel;
  return &made->head;
}

Object* new_function(Library* self, Selector, String* wanted) {
  const Lock lock(here().mutex);
  if (self->kernel->name() != wanted->text) return nullptr;
  Function* made = here().make<Function>("MTLFunction");
  made->kernel = self->kernel;
  return &made->head;
}

Object* new_pipeline_descriptor(ObjectClass*, Selector) {
  const Lock lock(here().mutex);
  return &here().make<PipelineDescriptor>("MTLComputePipelineDescriptor")->head;
}
void set_function(PipelineDescriptor* self, Selector, Function* function) {
  const Lock lock(here().mutex);
  here().retain(&function->head);
  self->function = function;
}
void set_indirect(PipelineDescriptor* self, Selector, bool is_indirect) {
  self->is_indirect = is_indirect;
}

Object* new_pipeline(Device*, Selector, Function* function, Object** error) {
  const Lock lock(here().mutex);
  if (function->kernel->group_bytes() > kGroupBytes) {
    set_error(here(), error,
              fmt::format("threadgroup memory of {} bytes exceeds the limit of {}",
                          function->kernel->group_bytes(), kGroupBytes));
    return nullptr;
  }
  Pipeline* made = here().make<Pipeline>("MTLComputePipelineState");
  made->kernel = function->kernel;
  return &made->head;
}

Object* new_pipeline_of(Device* self, Selector selector, PipelineDescriptor* descriptor,
                        u64 /*options*/, void*, Object** error) {
  const Lock lock(here().mutex);
  Object* made = new_pipeline(self, selector, descriptor->function, error);
  if (made != nullptr) reinterpret_cast<Pipeline*>(made)->is_indirect = descriptor->is_indirect;
  return made;
}

u64 max_items(Pipeline* self, Selector) { return std::min(kMostItems, self->kernel->max_items()); }

Object* new_options(ObjectClass*, Selector) {
  const Lock lock(here().mutex);
  return &here().make<CompileOptions>("MTLCompileOptions")->head;
}
void set_fast_math(CompileOptions* self, Selector, bool fast) { self->fast_math = fast; }
void set_language(CompileOptions* self, Selector, u64 language) { self->language = language; }

u8* contents(Buffer* self, Selector) { return self->contents; }
u64 length(Buffer* self, Selector) { return self->length; }

}  // namespace

bool margins_are_whole(const Buffer& buffer) {
  if (buffer.storage.empty()) return true;
  const auto is_whole = [](const u8* at) {
    return std::all_of(at, at + kMargin, [](u8 byte) { return byte == kMarginByte; });
  };
  return is_whole(buffer.storage.data()) && is_whole(buffer.contents + buffer.length);
}

Object* all_devices(Runtime& runtime) {
  if (runtime.device == nullptr) {
    auto* device = runtime.make<Device>("MTLDevice");
    device->name = "emulated Apple GPU";
    runtime.device = &device->head;
  }
  Array* made = runtime.make<Array>("NSArray");
  runtime.retain(runtime.device);
  made->objects.push_back(runtime.device);
  return &made->head;
}

void add_device(Runtime& runtime) {
  ObjectClass* device = runtime.class_named("MTLDevice");
  runtime.add(device, "name", name);
  runtime.add(device, "supportsFamily:", supports_family);
  runtime.add(device, "hasUnifiedMemory", has_unified_memory);
  runtime.add(device, "maxBufferLength", max_buffer_length);
  runtime.add(device, "recommendedMaxWorkingSetSize", max_buffer_length);
  runtime.add(device, "maxThreadgroupMemoryLength", max_group_memory);
  runtime.add(device, "newCommandQueueWithMaxCommandBufferCount:", new_queue);
  runtime.add(device, "newBufferWithLength:options:", new_buffer);
  runtime.add(device, "newBufferWithBytesNoCopy:length:options:deallocator:", new_buffer_no_copy);
  runtime.add(device, "newLibraryWithSource:options:error:", new_library);
  runtime.add(device, "newComputePipelineStateWithFunction:error:", new_pipeline);
  runtime.add(device,
              "newComputePipelineStateWithDescriptor:options:reflection:error:", new_pipeline_of);
  ObjectClass* descriptor = runtime.class_named("MTLComputePipelineDescriptor");
  runtime.add(descriptor->metaclass, "new", new_pipeline_descriptor);
  runtime.add(descriptor, "setComputeFunction:", set_function);
  runtime.add(descriptor, "setSupportIndirectCommandBuffers:", set_indirect);
  runtime.add(runtime.class_named("MTLLibrary"), "newFunctionWithName:", new_function);
  runtime.add(runtime.class_named("MTLComputePipelineState"), "maxTotalThreadsPerThreadgroup",
              max_items);
  ObjectClass* options = runtime.class_named("MTLCompileOptions");
  runtime.add(options->metaclass, "new", new_options);
  runtime.add(options, "setFastMathEnabled:", set_fast_math);
  runtime.add(options, "setLanguageVersion:", set_language);
  ObjectClass* buffer = runtime.class_named("MTLBuffer");
  runtime.add(buffer, "contents", contents);
  runtime.add(buffer, "length", length);
}

}  // namespace doorbell::emu::metal
