// Indirect command buffers: commands that are encoded once and run by a message to an encoder.
#include <fmt/format.h>

#include <algorithm>

#include "emulator/metal/metal.h"
#include "emulator/metal/rules.h"

namespace doorbell::emu::metal {
namespace {

constexpr u64 kConcurrentDispatch = 1 << 5, kMostInRange = 16384, kReadAndWrite = 3;

Runtime& here() { return *runtime(); }

// ---- descriptors --------------------------------------------------------------------------------

Object* new_descriptor(ObjectClass*, Selector) {
  const Lock lock(here().mutex);
  return &here().make<IndirectDescriptor>("MTLIndirectCommandBufferDescriptor")->head;
}
void set_types(IndirectDescriptor* self, Selector, u64 types) { self->types = types; }
void set_inherit_buffers(IndirectDescriptor* self, Selector, bool inherits) {
  self->inherits_buffers = inherits;
}
void set_inherit_pipeline(IndirectDescriptor* self, Selector, bool inherits) {
  self->inherits_pipeline = inherits;
}
void set_most_buffers(IndirectDescriptor* self, Selector, u64 most) { self->most_buffers = most; }

Object* new_commands(Device*, Selector, IndirectDescriptor* descriptor, u64 count,
                     u64 /*options*/) {
  const Lock lock(here().mutex);
  if (descriptor->types != kConcurrentDispatch || count == 0 ||
      descriptor->most_buffers > kMostArguments) {
    here().broken(kIndirectMade, fmt::format("{} commands of types {:#x} with {} buffers", count,
                                             descriptor->types, descriptor->most_buffers));
    return nullptr;
  }
  auto* made = here().make<IndirectCommands>("MTLIndirectCommandBuffer");
  made->commands.resize(count);
  made->most_buffers = descriptor->inherits_buffers ? 0 : descriptor->most_buffers;
  made->inherits_pipeline = descriptor->inherits_pipeline;
  return &made->head;
}

// ---- commands -----------------------------------------------------------------------------------

Object* command_at(IndirectCommands* self, Selector, u64 index) {
  const Lock lock(here().mutex);
  if (index >= self->commands.size()) {
    here().broken(kIndirectRange, fmt::format("command {} of {}", index, self->commands.size()));
    return nullptr;
  }
  auto* made = here().make<IndirectCommandAt>("MTLIndirectComputeCommand");
  made->all = self;
  made->index = index;
  here().retain(&self->head);
  return here().autorelease(&made->head);
}

// The command, which nothing may read meanwhile.
IndirectCommand& edited(IndirectCommandAt* self) {
  if (self->all->on_their_way > 0)
    here().broken(kIndirectBusy, fmt::format("command {} changes while {} command buffers run it",
                                             self->index, self->all->on_their_way));
  return self->all->commands[self->index];
}

void set_pipeline(IndirectCommandAt* self, Selector, Pipeline* pipeline) {
  const Lock lock(here().mutex);
  if (!here().is_alive(&pipeline->head))
    return here().broken(kAlive, "a pipeline " + here().describe(&pipeline->head));
  if (!pipeline->is_indirect || self->all->inherits_pipeline)
    return here().broken(kIndirectPipeline, pipeline->kernel->name());
  edited(self).pipeline = pipeline;
}

void set_buffer(IndirectCommandAt* self, Selector, Buffer* buffer, u64 offset, u64 index) {
  const Lock lock(here().mutex);
  if (index >= self->all->most_buffers)
    return here().broken(
        kIndex, fmt::format("index {} of {} in a command", index, self->all->most_buffers));
  if (!here().is_alive(&buffer->head))
    return here().broken(kAlive, "a buffer " + here().describe(&buffer->head));
  if (offset >= buffer->length)
    return here().broken(kOffset,
                         fmt::format("offset {} of a buffer of {}", offset, buffer->length));
  edited(self).arguments[index] = {buffer, offset};
}

void set_barrier(IndirectCommandAt* self, Selector) {
  const Lock lock(here().mutex);
  edited(self).has_barrier = true;
}

void dispatch(IndirectCommandAt* self, Selector, Size groups, Size items) {
  const Lock lock(here().mutex);
  IndirectCommand& command = edited(self);
  command.groups = groups;
  command.items = items;
}

// ---- encoders -----------------------------------------------------------------------------------

void use_resources(Encoder* self, Selector, Buffer* const* resources, u64 count, u64 usage) {
  const Lock lock(here().mutex);
  if (self->ended) return here().broken(kEnded, "useResources after endEncoding");
  for (u64 i = 0; i < count; ++i) {
    if (!here().is_alive(&resources[i]->head))
      return here().broken(kAlive, "a resource " + here().describe(&resources[i]->head));
    here().retain(&resources[i]->head);
    self->commands->keeps.push_back(&resources[i]->head);
    if (usage == kReadAndWrite) self->resident.push_back(resources[i]);
  }
}

void execute(Encoder* self, Selector, IndirectCommands* commands, Range range) {
  const Lock lock(here().mutex);
  if (self->ended) return here().broken(kEnded, "executeCommandsInBuffer after endEncoding");
  if (!here().is_alive(&commands->head))
    return here().broken(kAlive, "commands " + here().describe(&commands->head));
  const u64 size = commands->commands.size();
  if (range.length == 0 || range.length > kMostInRange || range.location > size ||
      range.length > size - range.location)
    return here().broken(kIndirectRange, fmt::format("{} commands from {} on, of {}", range.length,
                                                     range.location, size));
  here().retain(&commands->head);
  self->commands->keeps.push_back(&commands->head);
  ++commands->on_their_way;
  self->commands->work.push_back(Indirect{commands, range, self->resident});
}

bool may_run(const IndirectCommand& command, const std::vector<Buffer*>& resident) {
  // Also whether there is a pipeline.
  if (!check_dispatch(command.pipeline, command.arguments, command.groups, command.items))
    return false;
  for (const KernelArgument& argument : command.pipeline->kernel->arguments()) {
    Buffer* buffer = command.arguments[argument.index].buffer;
    if (std::ranges::find(resident, buffer) != resident.end()) continue;
    here().broken(kResident, fmt::format("{}, argument {}: {}", command.pipeline->kernel->name(),
                                         argument.index, here().describe(&buffer->head)));
    return false;
  }
  return true;
}

}  // namespace

// Commands that no barrier separates may run in any order: the last one runs first.
void run_indirect(const Indirect& work) {
  const auto begin = work.commands->commands.begin() + static_cast<i64>(work.range.location);
  const auto end = begin + static_cast<i64>(work.range.length);
  for (auto first = begin; first != end;) {
    const auto after =
        std::find_if(first + 1, end, [](const IndirectCommand& c) { return c.has_barrier; });
    for (auto at = after; at-- != first;)
      if (may_run(*at, work.resident))
        run_dispatch({at->pipeline->kernel, at->arguments, at->groups, at->items});
    first = after;
  }
  --work.commands->on_their_way;
}

void add_indirect(Runtime& runtime) {
  ObjectClass* descriptor = runtime.class_named("MTLIndirectCommandBufferDescriptor");
  runtime.add(descriptor->metaclass, "new", new_descriptor);
  runtime.add(descriptor, "setCommandTypes:", set_types);
  runtime.add(descriptor, "setInheritBuffers:", set_inherit_buffers);
  runtime.add(descriptor, "setInheritPipelineState:", set_inherit_pipeline);
  runtime.add(descriptor, "setMaxKernelBufferBindCount:", set_most_buffers);
  runtime.add(runtime.class_named("MTLDevice"),
              "newIndirectCommandBufferWithDescriptor:maxCommandCount:options:", new_commands);
  runtime.add(runtime.class_named("MTLIndirectCommandBuffer"),
              "indirectComputeCommandAtIndex:", command_at);
  ObjectClass* command = runtime.class_named("MTLIndirectComputeCommand");
  runtime.add(command, "setComputePipelineState:", set_pipeline);
  runtime.add(command, "setKernelBuffer:offset:atIndex:", set_buffer);
  runtime.add(command, "setBarrier", set_barrier);
  runtime.add(command, "concurrentDispatchThreadgroups:threadsPerThreadgroup:", dispatch);
  ObjectClass* encoder = runtime.class_named("MTLComputeCommandEncoder");
  runtime.add(encoder, "useResources:count:usage:", use_resources);
  runtime.add(encoder, "executeCommandsInBuffer:withRange:", execute);
}

}  // namespace doorbell::emu::metal
