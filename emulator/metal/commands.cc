// Command buffers and encoders.
#include <fmt/format.h>

#include <chrono>
#include <cstring>

#include "emulator/metal/metal.h"
#include "emulator/metal/rules.h"

namespace doorbell::emu::metal {
namespace {

using State = CommandBuffer::State;

Runtime& here() { return *runtime(); }

f64 now_seconds() {
  return std::chrono::duration<f64>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// ---- command buffers ----------------------------------------------------------------------------

Object* command_buffer(Queue* self, Selector) {
  const Lock lock(here().mutex);
  if (self->alive >= self->room) {
    here().broken(kRoom, fmt::format("{} command buffers are not done, of a queue for {}",
                                     self->alive, self->room));
    if (!self->committed.empty()) run_until(here(), self->committed.back());
  }
  CommandBuffer* made = here().make<CommandBuffer>("MTLCommandBuffer");
  made->queue = self;
  here().retain(&self->head);
  made->keeps.push_back(&self->head);
  ++self->alive;
  return here().autorelease(&made->head);
}

Object* encoder(CommandBuffer* self, const char* name) {
  if (self->state != State::Made) {
    here().broken(kCommit, fmt::format("{} of a command buffer that was committed", name));
    return nullptr;
  }
  if (self->encoding) {
    here().broken(kOneEncoder, fmt::format("{} while another encoder is open", name));
    return nullptr;
  }
  self->encoding = true;
  Encoder* made = here().make<Encoder>(name);
  made->commands = self;
  here().retain(&self->head);
  return here().autorelease(&made->head);
}
Object* compute_encoder(CommandBuffer* self, Selector) {
  const Lock lock(here().mutex);
  return encoder(self, "MTLComputeCommandEncoder");
}
Object* blit_encoder(CommandBuffer* self, Selector) {
  const Lock lock(here().mutex);
  return encoder(self, "MTLBlitCommandEncoder");
}

void commit(CommandBuffer* self, Selector) {
  const Lock lock(here().mutex);
  if (self->encoding) return here().broken(kOneEncoder, "commit while an encoder is open");
  if (self->state != State::Made) return here().broken(kCommit, "commit of what was committed");
  self->state = State::Committed;
  here().retain(&self->head);
  self->queue->committed.push_back(self);
}

u64 status(CommandBuffer* self, Selector) {
  const Lock lock(here().mutex);
  const State seen = self->state;
  // The next look finds it done.
  if (seen == State::Committed) run_until(here(), self);
  return static_cast<u64>(seen);
}

void wait_until_completed(CommandBuffer* self, Selector) {
  const Lock lock(here().mutex);
  if (self->state == State::Made) return here().broken(kWait, "it would wait for ever");
  if (self->state == State::Committed) run_until(here(), self);
}

Object* error(CommandBuffer* self, Selector) {
  const Lock lock(here().mutex);
  Object* made = nullptr;
  if (self->state == State::Failed) set_error(here(), &made, self->error);
  return made;
}
f64 gpu_start(CommandBuffer* self, Selector) { return self->start; }
f64 gpu_end(CommandBuffer* self, Selector) { return self->end; }

// ---- encoders -----------------------------------------------------------------------------------

bool is_open(Encoder* self, const char* what) {
  if (!self->ended) return true;
  here().broken(kEnded, fmt::format("{} after endEncoding", what));
  return false;
}

void keep(Encoder* self, Object* object) {
  here().retain(object);
  self->commands->keeps.push_back(object);
}

void end_encoding(Encoder* self, Selector) {
  const Lock lock(here().mutex);
  if (!is_open(self, "endEncoding")) return;
  self->ended = true;
  self->commands->encoding = false;
}

void set_pipeline(Encoder* self, Selector, Pipeline* pipeline) {
  const Lock lock(here().mutex);
  if (!is_open(self, "setComputePipelineState")) return;
  if (!here().is_alive(&pipeline->head))
    return here().broken(kAlive, "a pipeline " + here().describe(&pipeline->head));
  keep(self, &pipeline->head);
  self->pipeline = pipeline;
}

bool is_index(u64 index) {
  if (index < kMostArguments) return true;
  here().broken(kIndex, fmt::format("index {}", index));
  return false;
}

void set_buffer(Encoder* self, Selector, Buffer* buffer, u64 offset, u64 index) {
  const Lock lock(here().mutex);
  if (!is_open(self, "setBuffer") || !is_index(index)) return;
  if (!here().is_alive(&buffer->head))
    return here().broken(kAlive, "a buffer " + here().describe(&buffer->head));
  if (offset >= buffer->length)
    return here().broken(kOffset,
                         fmt::format("offset {} of a buffer of {}", offset, buffer->length));
  keep(self, &buffer->head);
  self->arguments[index] = {buffer, offset};
}

void set_bytes(Encoder* self, Selector, const u8* bytes, u64 length, u64 index) {
  const Lock lock(here().mutex);
  if (!is_open(self, "setBytes") || !is_index(index)) return;
  if (length == 0 || length > kMostBytes)
    return here().broken(kBytes, fmt::format("{} bytes", length));
  self->arguments[index] = {nullptr, 0, {bytes, bytes + length}};
}

}  // namespace

bool check_dispatch(const Pipeline* pipeline, const std::array<Argument, kMostArguments>& arguments,
                    Size groups, Size items) {
  if (pipeline == nullptr) {
    here().broken(kPipeline, "a dispatch without a pipeline");
    return false;
  }
  const Kernel& kernel = *pipeline->kernel;
  const u64 count = items.width * items.height * items.depth;
  const u64 most = std::min(kMostItems, kernel.max_items());
  if (groups.width * groups.height * groups.depth == 0 || count == 0 || count > most) {
    here().broken(kGroups, fmt::format("{} x {} x {} groups of {} x {} x {} threads, at most {}",
                                       groups.width, groups.height, groups.depth, items.width,
                                       items.height, items.depth, most));
    return false;
  }
  for (const KernelArgument& wanted : kernel.arguments()) {
    const Argument& given = arguments[wanted.index];
    if (given.buffer == nullptr && given.bytes.empty()) {
      here().broken(kBound, fmt::format("argument {} of {}", wanted.index, kernel.name()));
      return false;
    }
    if (given.offset % wanted.element_bytes != 0)
      here().broken(
          kOffset, fmt::format("offset {} of argument {} of {}, elements of {} bytes", given.offset,
                               wanted.index, kernel.name(), wanted.element_bytes));
  }
  return true;
}

namespace {

void dispatch(Encoder* self, Selector, Size groups, Size items) {
  const Lock lock(here().mutex);
  if (!is_open(self, "dispatchThreadgroups") ||
      !check_dispatch(self->pipeline, self->arguments, groups, items))
    return;
  self->commands->work.push_back(Dispatch{self->pipeline->kernel, self->arguments, groups, items});
}

void copy_buffer(Encoder* self, Selector, Buffer* from, u64 from_offset, Buffer* to, u64 to_offset,
                 u64 bytes) {
  const Lock lock(here().mutex);
  if (!is_open(self, "copyFromBuffer")) return;
  for (Buffer* buffer : {from, to})
    if (!here().is_alive(&buffer->head))
      return here().broken(kAlive, "a buffer " + here().describe(&buffer->head));
  const bool overlap =
      from == to && from_offset < to_offset + bytes && to_offset < from_offset + bytes;
  if (bytes == 0 || (from_offset | to_offset | bytes) % 4 != 0 || overlap ||
      from_offset > from->length || bytes > from->length - from_offset || to_offset > to->length ||
      bytes > to->length - to_offset)
    return here().broken(
        kBlit, fmt::format("{} bytes from {} of {} to {} of {}{}", bytes, from_offset, from->length,
                           to_offset, to->length, overlap ? ", overlapping" : ""));
  keep(self, &from->head);
  keep(self, &to->head);
  self->commands->work.push_back(Copy{from, to, from_offset, to_offset, bytes});
}

// ---- running ------------------------------------------------------------------------------------

}  // namespace

void run_dispatch(const Dispatch& dispatch) {
  std::array<const void*, kMostArguments> pointers{};
  for (usize i = 0; i < kMostArguments; ++i) {
    const Argument& given = dispatch.arguments[i];
    pointers[i] =
        given.buffer != nullptr ? given.buffer->contents + given.offset : given.bytes.data();
  }
  const Kernel::Grid grid{
      {static_cast<u32>(dispatch.groups.width), static_cast<u32>(dispatch.groups.height),
       static_cast<u32>(dispatch.groups.depth)},
      {static_cast<u32>(dispatch.items.width), static_cast<u32>(dispatch.items.height),
       static_cast<u32>(dispatch.items.depth)}};
  if (const auto wrong = dispatch.kernel->run(pointers.data(), grid))
    here().broken(*wrong->rule, dispatch.kernel->name() + ": " + wrong->what);
  for (const KernelArgument& argument : dispatch.kernel->arguments()) {
    const Buffer* buffer = dispatch.arguments[argument.index].buffer;
    if (buffer != nullptr && !margins_are_whole(*buffer))
      here().broken(kOutside,
                    fmt::format("{} beside argument {}", dispatch.kernel->name(), argument.index));
  }
}

namespace {

void run(const Dispatch& dispatch) { run_dispatch(dispatch); }
void run(const Indirect& indirect) { run_indirect(indirect); }
void run(const Copy& copy) {
  std::memcpy(copy.to->contents + copy.to_offset, copy.from->contents + copy.from_offset,
              copy.bytes);
}

}  // namespace

void run_until(Runtime& runtime, CommandBuffer* last) {
  Queue& queue = *last->queue;
  bool is_last = false;
  while (!is_last && !queue.committed.empty()) {
    CommandBuffer* next = queue.committed.front();
    queue.committed.erase(queue.committed.begin());
    is_last = next == last;
    next->start = now_seconds();
    for (const auto& work : next->work) std::visit([](const auto& each) { run(each); }, work);
    next->end = now_seconds();
    next->error = runtime.fault();
    next->state = next->error.empty() ? State::Completed : State::Failed;
    next->work.clear();
    for (usize i = 1; i < next->keeps.size(); ++i) runtime.release(next->keeps[i]);
    next->keeps.resize(1);  // the queue
    --queue.alive;
    runtime.release(&next->head);
  }
}

void add_commands(Runtime& runtime) {
  runtime.add(runtime.class_named("MTLCommandQueue"), "commandBuffer", command_buffer);
  ObjectClass* commands = runtime.class_named("MTLCommandBuffer");
  runtime.add(commands, "computeCommandEncoder", compute_encoder);
  runtime.add(commands, "blitCommandEncoder", blit_encoder);
  runtime.add(commands, "commit", commit);
  runtime.add(commands, "status", status);
  runtime.add(commands, "waitUntilCompleted", wait_until_completed);
  runtime.add(commands, "error", error);
  runtime.add(commands, "GPUStartTime", gpu_start);
  runtime.add(commands, "GPUEndTime", gpu_end);
  ObjectClass* compute = runtime.class_named("MTLComputeCommandEncoder");
  runtime.add(compute, "setComputePipelineState:", set_pipeline);
  runtime.add(compute, "setBuffer:offset:atIndex:", set_buffer);
  runtime.add(compute, "setBytes:length:atIndex:", set_bytes);
  runtime.add(compute, "dispatchThreadgroups:threadsPerThreadgroup:", dispatch);
  ObjectClass* blit = runtime.class_named("MTLBlitCommandEncoder");
  runtime.add(blit, "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", copy_buffer);
  for (ObjectClass* encoder : {compute, blit}) runtime.add(encoder, "endEncoding", end_encoding);
}

std::span<const Check* const> all_checks() {
  static constexpr const Check* kAll[] = {
#define DOORBELL_RULE(name, ...) &name,
#include "emulator/metal/rules.def"
#undef DOORBELL_RULE
  };
  return kAll;
}

}  // namespace doorbell::emu::metal
