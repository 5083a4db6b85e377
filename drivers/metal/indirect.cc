// Making, encoding and running. [Apple, MTLIndirectCommandBuffer, MTLIndirectComputeCommand;
// tinygrad/tinygrad tinygrad/runtime/graph/metal.py at 0026097]
#include "drivers/metal/indirect.h"

#include <algorithm>

#include "base/util/check.h"
#include "base/util/try.h"

namespace doorbell::metal {
namespace {

// [Metal/MTLIndirectCommandBuffer.h, MTLIndirectCommandTypeConcurrentDispatch; MTLCommandEncoder.h,
// MTLResourceUsageRead and -Write]
constexpr u64 kConcurrentDispatch = 1 << 5, kReadAndWrite = 3;
constexpr u64 kMostArguments = 31;
// The most commands that one message runs [Apple, executeCommandsInBuffer:withRange:].
constexpr usize kMostCommands = 16384;
// Of a launch's variables; offsets of arguments are multiples of it. [Apple, "Metal Feature Set
// Tables", "Minimum constant buffer offset alignment", Mac: 256 at most]
constexpr u64 kVariableBytes = 256;
constexpr usize kMostVariables = kVariableBytes / sizeof(i64);

// NSRange, by value.
struct Range {
  u64 location, length;
};

const MetalProgram& program_of(const hcq::LaunchBatch::Launch& launch) {
  return static_cast<const MetalProgram&>(*launch.program);
}

}  // namespace

Result<std::unique_ptr<hcq::LaunchBatch>> IndirectLaunches::make(Context& context, usize launches) {
  std::unique_ptr<LaunchBatch> none;
  if (!context.info().indirect || launches > kMostCommands) return none;
  const Api& api = context.api();
  const Pool pool(api);
  const Owned descriptor(api, api.send<Id>(api.indirect_descriptor, api.sel.new_object));
  api.send(descriptor.get(), api.sel.set_command_types, kConcurrentDispatch);
  api.send(descriptor.get(), api.sel.set_inherit_buffers, false);
  api.send(descriptor.get(), api.sel.set_inherit_pipeline, false);
  api.send(descriptor.get(), api.sel.set_max_kernel_buffers, kMostArguments);
  Owned commands(api, api.send<Id>(context.device(), api.sel.new_indirect, descriptor.get(),
                                   static_cast<u64>(launches), kStorageShared));
  Owned variables(api, api.send<Id>(context.device(), api.sel.new_buffer, launches * kVariableBytes,
                                    kStorageShared));
  // Launches one by one do without.
  if (commands.get() == nullptr || variables.get() == nullptr) return none;
  return std::unique_ptr<LaunchBatch>(
      new IndirectLaunches(context, std::move(commands), std::move(variables), launches));
}

IndirectLaunches::IndirectLaunches(Context& context, Owned commands, Owned variables,
                                   usize launches)
    : context_(context),
      commands_(std::move(commands)),
      variables_(std::move(variables)),
      variable_bytes_(context.api().send<u8*>(variables_.get(), context.api().sel.contents)),
      applied_(launches),
      wanted_(launches) {}

void IndirectLaunches::read(const Launch& launch, Applied* made) {
  made->program = launch.program;
  made->arguments.clear();
  for (const core::BufferView& view : launch.buffers) {
    made->arguments.push_back(memory_of(view.buffer->memory()).number);
    made->arguments.push_back(static_cast<u64>(view.offset));
  }
  for (const i64 value : launch.variables) made->arguments.push_back(static_cast<u64>(value));
}

Result<bool> IndirectLaunches::launch(std::span<const Launch> launches) {
  CHECK(launches.size() == applied_.size(), "{} launches, expected {}", launches.size(),
        applied_.size());
  for (usize i = 0; i < launches.size(); ++i) {
    program_of(launches[i]).check(launches[i].buffers, launches[i].variables);
    if (launches[i].variables.size() > kMostVariables) return false;
    read(launches[i], &wanted_[i]);
  }
  TRY(context_.usable());
  TRY(context_.wait_for_room());
  const Api& api = context_.api();
  const Pool pool(api);
  Context::Lock lock(context_.mutex());
  if (wanted_ != applied_) {
    // The GPU may read them. [Apple, "Encoding indirect command buffers on the CPU"]
    if (context_.finished() < last_) context_.poll();
    if (context_.finished() < last_) return false;
    for (usize i = 0; i < launches.size(); ++i)
      if (wanted_[i] != applied_[i]) encode(i, launches[i]);
    list_resources(launches);
    applied_ = wanted_;
  }
  const Id encoder = context_.compute_encoder("a replay");
  if (encoder == nullptr) return fail(ErrorKind::Os, "a replay: Metal gives no encoder");
  api.send(encoder, api.sel.use_resources, static_cast<const Id*>(resources_.data()),
           static_cast<u64>(resources_.size()), kReadAndWrite);
  api.send(encoder, api.sel.execute_commands, commands_.get(),
           Range{0, static_cast<u64>(launches.size())});
  last_ = context_.encoded();
  for (Memory* memory : memories_) memory->last_use.store(last_, std::memory_order_release);
  return true;
}

// Each waits for the one before: launches are in order.
void IndirectLaunches::encode(usize number, const Launch& launch) {
  const Api& api = context_.api();
  const Id command = api.send<Id>(commands_.get(), api.sel.command_at, static_cast<u64>(number));
  const MetalProgram& program = program_of(launch);
  api.send(command, api.sel.set_pipeline, program.pipeline());
  for (u64 i = 0; i < launch.buffers.size(); ++i)
    api.send(command, api.sel.set_kernel_buffer,
             memory_of(launch.buffers[i].buffer->memory()).handle,
             static_cast<u64>(launch.buffers[i].offset), i);
  if (!launch.variables.empty()) {
    std::ranges::copy(launch.variables,
                      reinterpret_cast<i64*>(variable_bytes_ + number * kVariableBytes));
    api.send(command, api.sel.set_kernel_buffer, variables_.get(), number * kVariableBytes,
             static_cast<u64>(launch.buffers.size()));
  }
  api.send(command, api.sel.set_barrier);
  api.send(command, api.sel.concurrent_dispatch, program.groups(), program.items());
}

void IndirectLaunches::list_resources(std::span<const Launch> launches) {
  memories_.clear();
  for (const Launch& launch : launches)
    for (const core::BufferView& view : launch.buffers)
      memories_.push_back(&memory_of(view.buffer->memory()));
  std::ranges::sort(memories_, {}, &Memory::number);
  memories_.erase(std::unique(memories_.begin(), memories_.end()), memories_.end());
  resources_.assign(1, variables_.get());
  for (const Memory* memory : memories_) resources_.push_back(memory->handle);
}

}  // namespace doorbell::metal
