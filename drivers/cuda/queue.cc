// Commands as calls on a stream.
#include "drivers/cuda/queue.h"

#include "base/util/check.h"
#include "base/util/try.h"
#include "drivers/cuda/command_buffer.h"
#include "drivers/cuda/device.h"
#include "drivers/cuda/launch_arguments.h"

namespace doorbell::cuda {
namespace {

// Fewer launches cost less than the call of a graph.
constexpr usize kLeastLaunches = 4;

bool is_part_of_graph(CommandKind kind) {
  return kind == CommandKind::Exec || kind == CommandKind::Barrier;
}

}  // namespace

// Resident commands that ran before, cut where launches became a graph.
struct CudaQueue::Replay final : hcq::ResidentWords::Compiled {
  struct Part {
    const u32 *begin, *end;
    std::unique_ptr<LaunchGraph> graph;  // null: command by command
  };
  std::vector<Part> parts;  // none before the second run

  Result<void> cut(const std::shared_ptr<Context>& context, const u32* begin, const u32* end) {
    while (begin != end) {
      const bool joins = is_part_of_graph(Command{begin}.header().kind);
      const u32* at = begin;
      usize launches = 0;
      while (at != end && is_part_of_graph(Command{at}.header().kind) == joins) {
        launches += Command{at}.header().kind == CommandKind::Exec ? 1 : 0;
        at = Command{at}.next();
      }
      Part& part = parts.emplace_back(begin, at);
      if (launches >= kLeastLaunches) {
        TRY(part.graph, LaunchGraph::make(context, begin, at));
      }
      begin = at;
    }
    return {};
  }
};

Result<std::unique_ptr<CudaQueue>> CudaQueue::make(Parts parts, const CudaDevice& device) {
  TRY(hcq::Timeline timeline, hcq::Timeline::make(*parts.signals, parts.timeline_limit));
  std::unique_ptr<CudaQueue> queue(new CudaQueue(std::move(parts), std::move(timeline), device));
  const Current current(*queue->context_);
  TRY(queue->context_->check(
      queue->context_->api().cuStreamCreate(&queue->stream_, kStreamNonBlocking),
      "cuStreamCreate"));
  return queue;
}

CudaQueue::CudaQueue(Parts parts, hcq::Timeline timeline, const CudaDevice& device)
    : Queue(std::move(parts), std::move(timeline)),
      device_(device),
      context_(device.shared_context()),
      timestamps_(context_, clock()) {}

CudaQueue::~CudaQueue() {
  if (stream_ == nullptr || !context_->api().process.is_same_process()) return;
  const Current current(*context_);
  (void)context_->api().cuStreamDestroy(stream_);
}

void CudaQueue::close() {
  if (!context_->failure()) return;
  const Current current(*context_);
  (void)context_->check(context_->api().cuStreamSynchronize(stream_), "cuStreamSynchronize");
}

std::unique_ptr<hcq::CommandBuffer> CudaQueue::make_commands() {
  return std::make_unique<CudaCommandBuffer>(device_);
}

void CudaQueue::die(const Error& why) {
  died(why);
  timeline().signal_at(timeline().last()).signal.store(hcq::Signal::kDead);
}

Result<void> CudaQueue::write(std::span<const hcq::Segment> segments, hcq::Position /*end*/) {
  TRY(failure());
  const Current current(*context_);
  for (const hcq::Segment& segment : segments) {
    if (segment.resident != nullptr) {
      TRY(run_resident(*segment.resident));
      continue;
    }
    CHECK(segment.commands == nullptr || segment.commands->data().empty(),
          "commands of a CUDA queue have no data");
    TRY(run(segment.words.data(), segment.words.data() + segment.words.size()));
  }
  return {};
}

Result<void> CudaQueue::run_resident(hcq::ResidentWords& resident) {
  const u32* begin = static_cast<const u32*>(resident.memory.host);
  const u32* end = begin + resident.count;
  if (!device_.uses_graphs()) return run(begin, end);
  if (resident.compiled == nullptr) {
    resident.compiled = std::make_unique<Replay>();
    return run(begin, end);
  }
  auto& replay = static_cast<Replay&>(*resident.compiled);
  if (replay.parts.empty()) TRY(replay.cut(context_, begin, end));
  for (const Replay::Part& part : replay.parts) {
    if (part.graph != nullptr)
      TRY(part.graph->launch(stream_));
    else
      TRY(run(part.begin, part.end));
  }
  return {};
}

Result<void> CudaQueue::run(const u32* at, const u32* end) {
  for (Command command{at}; command.words != end; command = {command.next()}) TRY(run(command));
  return {};
}

Result<void> CudaQueue::run(Command command) {
  const Api& api = context_->api();
  switch (command.header().kind) {
    case CommandKind::Exec: return launch(command);
    case CommandKind::Copy:
      return context_->check(
          api.cuMemcpyAsync(command.operand(0), command.operand(1), command.operand(2), stream_),
          "cuMemcpyAsync");
    // A write comes after a fence of the whole system. [CUDA Driver API, CUstreamWriteValue_flags]
    case CommandKind::Write:
    case CommandKind::Signal:
      return context_->check(
          api.cuStreamWriteValue64(stream_, command.operand(0), command.operand(1), kWriteDefault),
          "cuStreamWriteValue64");
    case CommandKind::Wait:
      return context_->check(
          api.cuStreamWaitValue64(stream_, command.operand(0), command.operand(1), kWaitAtLeast),
          "cuStreamWaitValue64");
    case CommandKind::Poll:
      return wait_for(command.operand(0), command.operand(1), command.operand(2));
    case CommandKind::Timestamp: return stamp(command.operand(0));
    case CommandKind::Barrier: return {};
  }
  return fail(ErrorKind::Corrupt, "a command of kind {} on the {}",
              static_cast<int>(command.header().kind), title());
}

Result<void> CudaQueue::launch(Command command) {
  const auto& program = *reinterpret_cast<const CudaProgram*>(command.operand(0));
  TRY(const CudaProgram* form, program.form_for(command.arguments()));
  const KernelNodeParams& shape = form->shape();
  LaunchArguments arguments(command.argument_words());
  TRY(arguments.set(*form));
  const CUresult result = context_->api().cuLaunchKernel(
      shape.func, shape.grid_x, shape.grid_y, shape.grid_z, shape.block_x, shape.block_y,
      shape.block_z, shape.shared_bytes, stream_, arguments.values(), arguments.extra());
  if (result == kSuccess) [[likely]]
    return {};
  return context_->check(result, "cuLaunchKernel of kernel " + program.name());
}

// CUDA compares all bits, or looks whether one of them is set.
Result<void> CudaQueue::wait_for(u64 address, u64 value, u64 mask) {
  if (mask != ~u64{0} && (value != mask || (mask & (mask - 1)) != 0))
    return fail(ErrorKind::Unsupported,
                "the {} cannot wait until bits {:#x} of a number are {:#x}: CUDA waits for all 64 "
                "bits, or until a bit is set",
                title(), mask, value);
  const u32 how = mask == ~u64{0} ? kWaitEqual : kWaitAny;
  return context_->check(context_->api().cuStreamWaitValue64(stream_, address, value, how),
                         "cuStreamWaitValue64");
}

// In memory that the host sees: pinned memory, where the device sees it at the same address.
Result<void> CudaQueue::stamp(u64 address) {
  TRY(const u64 number, timestamps_.record(stream_));
  std::memcpy(reinterpret_cast<void*>(address), &number, sizeof number);
  return {};
}

}  // namespace doorbell::cuda
