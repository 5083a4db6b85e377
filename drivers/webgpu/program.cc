// Pipelines, bind groups and launches.
#include "drivers/webgpu/program.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/util/check.h"
#include "base/util/try.h"

namespace doorbell::webgpu {

Result<Owned<ShaderModule>> make_module(Context& context, std::string_view name,
                                        std::string_view source) {
  WgslSource text;
  text.code = source;
  ShaderModuleDescriptor descriptor;
  descriptor.next = &text.chain;
  descriptor.label = name;
  Result<Owned<ShaderModule>> module =
      context.make(&Api::DeviceCreateShaderModule, &Api::ShaderModuleRelease, descriptor);
  if (module) return module;
  Error error = fail(ErrorKind::Compile, "kernel {}: {}\n{}", name, module.error().message, source);
  error.device = module.error().device;
  return error;
}

Result<std::unique_ptr<core::Program>> WebGpuProgram::make(const Launching& launching, u64 number,
                                                           std::string_view name,
                                                           std::string source,
                                                           const core::Binary& binary) {
  hw::KernelAbi abi;
  if (!hw::parse_header(source, &abi) || source.find(hw::kBindings) == std::string::npos ||
      source.find(hw::kKernel) == std::string::npos)
    return fail(ErrorKind::Corrupt, "kernel {}: no declaration of arguments in its text", name);
  if (abi.params.size() != binary.param_count || abi.variables != binary.variable_count)
    return fail(ErrorKind::Corrupt,
                "kernel {}: its text takes {} buffers and {} variables, expected {} and {}", name,
                abi.params.size(), abi.variables, binary.param_count, binary.variable_count);
  return std::unique_ptr<core::Program>(
      new WebGpuProgram(launching, number, name, std::move(source), std::move(abi), binary));
}

WebGpuProgram::WebGpuProgram(const Launching& launching, u64 number, std::string_view name,
                             std::string source, hw::KernelAbi abi, const core::Binary& binary)
    : shared_(launching),
      number_(number),
      name_(name),
      source_(std::move(source)),
      entry_(binary.name),
      abi_(std::move(abi)) {
  for (int axis = 0; axis < 3; ++axis) groups_[axis] = static_cast<u32>(binary.grid_groups[axis]);
}

WebGpuProgram::~WebGpuProgram() {
  if (!shared_.context->usable()) return;
  Context::Lock lock(shared_.context->mutex());
  shared_.bindings->forget_program(number_);
}

Error WebGpuProgram::named(Error error) const {
  error.message = fmt::format("kernel {}: {}", name_, error.message);
  error.device = shared_.device->name();
  return error;
}

Result<const WebGpuProgram::Pipeline*> WebGpuProgram::pipeline_of(const hw::Sharing& sharing) {
  const auto found = pipelines_.find(sharing);
  if (found != pipelines_.end()) return &found->second;
  TRY(Pipeline made, compile(sharing));
  return &pipelines_.emplace(sharing, std::move(made)).first->second;
}

Result<WebGpuProgram::Pipeline> WebGpuProgram::compile(const hw::Sharing& sharing) {
  Context& context = *shared_.context;
  TRY(const Owned<ShaderModule> module,
      make_module(context, name_, hw::shared_source(source_, abi_, sharing)));

  std::vector<LayoutEntry> entries(1 + hw::bindings_of(sharing));
  for (u32 i = 0; i < entries.size(); ++i) {
    entries[i].binding = i;
    entries[i].buffer.type = i == 0                                 ? BindingType::Uniform
                             : hw::is_written(abi_, sharing, i - 1) ? BindingType::Storage
                                                                    : BindingType::ReadOnlyStorage;
  }
  Pipeline made;
  BindGroupLayoutDescriptor layout;
  layout.count = entries.size();
  layout.entries = entries.data();
  TRY(made.layout,
      context.make(&Api::DeviceCreateBindGroupLayout, &Api::BindGroupLayoutRelease, layout));
  const BindGroupLayout group = made.layout.get();
  PipelineLayoutDescriptor whole;
  whole.count = 1;
  whole.layouts = &group;
  TRY(const Owned<PipelineLayout> pipeline_layout,
      context.make(&Api::DeviceCreatePipelineLayout, &Api::PipelineLayoutRelease, whole));
  ComputePipelineDescriptor descriptor;
  descriptor.label = name_;
  descriptor.layout = pipeline_layout.get();
  descriptor.compute.module = module.get();
  descriptor.compute.entry = std::string_view(entry_);
  Result<Owned<ComputePipeline>> pipeline =
      context.make(&Api::DeviceCreateComputePipeline, &Api::ComputePipelineRelease, descriptor);
  if (!pipeline) {
    Error error = named(pipeline.error());
    error.kind = ErrorKind::Compile;
    return error;
  }
  made.pipeline = std::move(*pipeline);
  return made;
}

Result<Windows> WebGpuProgram::windows(std::span<const core::BufferView> buffers) const {
  const DeviceInfo& info = shared_.context->info();
  std::vector<Use> uses;
  for (usize i = 0; i < buffers.size(); ++i) {
    const Memory& memory = memory_of(buffers[i].buffer->memory());
    const u64 begin = static_cast<u64>(buffers[i].offset);
    uses.push_back({memory.id, memory.bytes, begin,
                    begin + abi_.params[i].count * abi_.params[i].bytes, abi_.params[i].written});
  }
  Result<Windows> placed = place_windows(
      uses, {static_cast<u64>(info.binding_bytes) / 4 * 4, static_cast<u64>(info.storage_alignment),
             static_cast<u64>(info.storage_buffers)});
  if (!placed) return named(placed.error());
  return placed;
}

Result<const Bound*> WebGpuProgram::bind(LaunchKey key, std::span<const core::BufferView> buffers,
                                         std::span<const i64> variables) {
  Context& context = *shared_.context;
  TRY(const Windows placed, windows(buffers));
  const std::vector<Window>& windows = placed.windows;
  TRY(const Pipeline* pipeline, pipeline_of(placed.sharing));
  std::vector<u32> words(abi_.words(), 0);
  for (usize i = 0; i < buffers.size(); ++i) {
    const u64 offset =
        static_cast<u64>(buffers[i].offset) - windows[placed.sharing.binding[i]].offset;
    words[abi_.offset_word(i)] = static_cast<u32>(offset / abi_.params[i].offset_unit());
  }
  for (usize i = 0; i < variables.size(); ++i) {
    const u64 value = static_cast<u64>(variables[i]);
    words[abi_.variable_word(i)] = static_cast<u32>(value);
    words[abi_.variable_word(i) + 1] = static_cast<u32>(value >> 32);
  }
  TRY(const BindingsCache::Slot slot, shared_.bindings->write_words(words));
  std::vector<BindGroupEntry> entries(1 + windows.size());
  entries[0].buffer = slot.buffer;
  entries[0].offset = slot.offset;
  entries[0].size = words.size() * sizeof(u32);
  Bound bound{pipeline->pipeline.get(), {}, {}, slot.number};
  for (u32 g = 0; g < windows.size(); ++g) {
    const Memory& memory = memory_of(buffers[windows[g].param].buffer->memory());
    BindGroupEntry& entry = entries[g + 1];
    entry.binding = g + 1;
    entry.buffer = memory.buffer.get();
    entry.offset = windows[g].offset;
    entry.size = windows[g].bytes;
    bound.memory.push_back(memory.id);
  }
  BindGroupDescriptor descriptor;
  descriptor.layout = pipeline->layout.get();
  descriptor.count = entries.size();
  descriptor.entries = entries.data();
  Result<Owned<BindGroup>> group =
      context.make(&Api::DeviceCreateBindGroup, &Api::BindGroupRelease, descriptor);
  if (!group) return named(group.error());
  bound.group = std::move(*group);
  return shared_.bindings->add(std::move(key), std::move(bound));
}

Result<void> WebGpuProgram::launch(std::span<const core::BufferView> buffers,
                                   std::span<const i64> variables) {
  CHECK(buffers.size() == abi_.params.size() && variables.size() == abi_.variables,
        "kernel {} with {} buffers and {} variables, expected {} and {}", name_, buffers.size(),
        variables.size(), abi_.params.size(), abi_.variables);
  for (const core::BufferView& view : buffers)
    CHECK(&view.buffer->device() == shared_.device, "kernel {} of {} with a buffer of {}", name_,
          shared_.device->name(), view.buffer->device().name());
  Context& context = *shared_.context;
  TRY(context.usable());
  TRY(context.wait_for_room());
  LaunchKey key;
  key.push_back(number_);
  for (const core::BufferView& view : buffers) {
    key.push_back(memory_of(view.buffer->memory()).id);
    key.push_back(static_cast<u64>(view.offset));
  }
  for (i64 value : variables) key.push_back(static_cast<u64>(value));
  Context::Lock lock(context.mutex());
  const Bound* bound = shared_.bindings->find(key);
  if (bound == nullptr) {
    TRY(bound, bind(std::move(key), buffers, variables));
  }
  const u64 number = context.launch(name_, bound->pipeline, bound->group.get(), groups_);
  for (const core::BufferView& view : buffers) memory_of(view.buffer->memory()).last_use = number;
  return {};
}

}  // namespace doorbell::webgpu
