// Joining, calls on the stream, and faults.
#include "drivers/cuda/nccl/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/util/log.h"
#include "base/util/try.h"

namespace doorbell::cuda::nccl {
namespace {

using core::Exchange;
using core::ExchangeKind;

std::optional<Type> type_of(core::DType dtype) {
  switch (dtype.scalar) {
    case core::Scalar::I8: return Type::I8;
    case core::Scalar::Bool:
    case core::Scalar::U8: return Type::U8;
    case core::Scalar::I32: return Type::I32;
    case core::Scalar::U32: return Type::U32;
    case core::Scalar::I64: return Type::I64;
    case core::Scalar::U64: return Type::U64;
    case core::Scalar::F32: return Type::F32;
    case core::Scalar::F64: return Type::F64;
    default: return std::nullopt;
  }
}

// The larger of floats is fmaxf() in NCCL, which drops a NaN that tensors keep. [NVIDIA/nccl,
// src/device/reduce_kernel.h, FuncMinMax]
std::optional<Combine> combine_of(core::Op op, core::DType dtype) {
  const bool is_bool = dtype.is_bool();
  switch (op) {
    case core::Op::Add: return is_bool ? Combine::Max : Combine::Sum;
    case core::Op::Mul: return is_bool ? Combine::Min : Combine::Product;
    case core::Op::Max: return dtype.is_float() ? std::nullopt : std::optional(Combine::Max);
    case core::Op::And: return is_bool ? std::optional(Combine::Min) : std::nullopt;
    case core::Op::Or: return is_bool ? std::optional(Combine::Max) : std::nullopt;
    default: return std::nullopt;
  }
}

bool takes(const Exchange& exchange) {
  return !core::combines(exchange) ||
         (type_of(exchange.dtype) && combine_of(exchange.op, exchange.dtype));
}

void* pointer(u64 address) { return reinterpret_cast<void*>(address); }

u64 address_of(const core::BufferView& view) {
  return view.buffer->memory().address + static_cast<u64>(view.offset);
}

// Memory of the host that the GPU's copies take, for one exchange.
class Staging {
 public:
  static Result<Staging> make(hcq::Device& device, i64 bytes) {
    TRY(const core::Allocation memory, device.shared_memory().allocate(bytes));
    return Staging(device.shared_memory(), memory);
  }
  Staging(Staging&& other) noexcept
      : allocator_(other.allocator_), memory_(std::exchange(other.memory_, {})) {}
  ~Staging() {
    if (memory_.host != nullptr) allocator_.release(memory_);
  }
  u64 address() const { return memory_.address; }
  core::Ref<core::Buffer> buffer(core::Device& device) const {
    return core::Buffer::wrap(device, memory_);
  }

 private:
  Staging(core::Allocator& allocator, const core::Allocation& memory)
      : allocator_(allocator), memory_(memory) {}

  core::Allocator& allocator_;
  core::Allocation memory_;
};

}  // namespace

Result<std::unique_ptr<Group>> Group::join(core::Communicator& processes, const Options& options,
                                           CudaDevice& device, const std::vector<int>& ranks) {
  std::unique_ptr<Group> group(new Group(processes, device, ranks));
  TRY(group->start(options));
  return group;
}

// Only a group that could not be joined is destroyed; others end with the process.
Group::~Group() {
  const Context& context = device_.context();
  if (stream_ == nullptr || !context.api().process.is_same_process()) return;
  const Current current(context);
  (void)context.api().cuStreamDestroy(stream_);
}

int Group::place() const {
  return static_cast<int>(std::ranges::find(ranks_, processes_.rank()) - ranks_.begin());
}

Result<void> Group::start(const Options& options) {
  Context& context = device_.context();
  {
    const Current current(context);
    TRY(context.check(context.api().cuStreamCreate(&stream_, kStreamNonBlocking),
                      "cuStreamCreate"));
  }
  TRY(const std::vector<Facts> all, share(own_facts(options)));
  const std::string why_not = hindrance(all, ranks_);
  if (why_not.empty()) return connect(all[0].id);
  api_ = nullptr;
  if (std::ranges::any_of(all, [](const Facts& facts) { return facts.must != 0; }))
    return processes_.give_up(fail(ErrorKind::Unsupported, "NCCL was asked for: {}", why_not), {});
  if (place() == 0) log().warn("bytes of GPUs pass through the host's memory: {}", why_not);
  return {};
}

Facts Group::own_facts(const Options& options) {
  Facts facts{.must = options.must};
  const Context& context = device_.context();
  const auto refuse = [&](const std::string& why) {
    std::strncpy(facts.why_not, why.c_str(), sizeof facts.why_not - 1);
    return facts;
  };
  Result<const Api*> loaded = options.load();
  if (!loaded) return refuse(loaded.error().message);
  api_ = *loaded;
  const bool is_emulated = device_.spec().iface == "EMUCUDA";
  if (is_emulated && api_->use_driver == nullptr) return refuse("NCCL reaches no emulated GPU");
  if (is_emulated) api_->use_driver(&context.api());
  if (context.api().cuDeviceGetUuid(facts.gpu.data(), context.device()) != kSuccess)
    return refuse("CUDA does not tell which GPU this is");
  // Each process emulates GPUs of its own.
  if (is_emulated) facts.gpu[0] = static_cast<u8>(facts.gpu[0] + processes_.rank());
  if (place() == 0) {
    const Status status = api_->ncclGetUniqueId(&facts.id);
    if (status != Status::Success)
      return refuse(api_->refusal(status, "ncclGetUniqueId", nullptr).message);
  }
  facts.version = api_->version;
  return facts;
}

Result<std::vector<Facts>> Group::share(const Facts& own) {
  const Exchange exchange{.kind = ExchangeKind::Gather,
                          .dtype = core::dtypes::u8,
                          .bytes = sizeof(Facts),
                          .ranks = ranks_};
  TRY(const std::unique_ptr<core::Program> program, processes_.load(exchange));
  std::vector<Facts> all(ranks_.size());
  Facts given = own;
  const auto wrapped = [&](void* data, usize count) {
    return core::Buffer::wrap(processes_.device(),
                              {.host = data, .bytes = static_cast<i64>(count * sizeof(Facts))});
  };
  const core::Ref<core::Buffer> to = wrapped(all.data(), all.size()), from = wrapped(&given, 1);
  const core::BufferView views[] = {{to.get(), 0}, {from.get(), 0}};
  TRY(program->launch(views, {}));
  return all;
}

Result<void> Group::connect(const UniqueId& id) {
  Config config;
  const Current current(device_.context());
  const Status status =
      api_->ncclCommInitRankConfig(&comm_, static_cast<int>(ranks_.size()), id, place(), &config);
  if (status != Status::Success && status != Status::InProgress) {
    const Error error = api_->refusal(status, "ncclCommInitRankConfig", comm_);
    return processes_.give_up(error, ranks_);
  }
  return wait(fmt::format("NCCL's start among {} GPUs", ranks_.size()), nullptr);
}

Result<void> Group::wait(const std::string& what, CUstream stream) {
  Context& context = device_.context();
  bool is_refused = false;
  const auto is_done = [&]() -> Result<bool> {
    Status state = Status::Success;
    Status asked = api_->ncclCommGetAsyncError(comm_, &state);
    if (asked == Status::Success) asked = state;
    if (asked == Status::InProgress) return false;
    if (asked != Status::Success) {
      is_refused = true;
      return api_->refusal(asked, what, comm_);
    }
    if (stream == nullptr) return true;
    const CUresult found = context.api().cuStreamQuery(stream);
    if (found == kNotReady) return false;
    is_refused = found != kSuccess;
    TRY(context.check(found, what));
    return true;
  };
  Result<void> waited = processes_.wait(is_done, what, ranks_);
  if (waited) return {};
  // What the GPU still runs ends, too. [nccl.h, ncclCommAbort]
  (void)api_->ncclCommAbort(std::exchange(comm_, nullptr));
  if (is_refused) return processes_.give_up(waited.error(), ranks_);
  return waited;
}

Result<void> Group::run(const Exchange& exchange, std::span<const core::BufferView> buffers,
                        core::Program& through_host) {
  const Current current(device_.context());
  if (api_ == nullptr || !takes(exchange)) return run_through_host(exchange, buffers, through_host);
  // After a fault the processes know why.
  if (comm_ == nullptr) return processes_.wait([] { return true; }, core::describe(exchange), {});
  return run_with_nccl(exchange, buffers);
}

Result<void> Group::run_with_nccl(const Exchange& exchange,
                                  std::span<const core::BufferView> buffers) {
  const std::string what = core::describe(exchange);
  const Status status = call(exchange, buffers);
  if (status == Status::Success || status == Status::InProgress) return wait(what, stream_);
  const Error error = api_->refusal(status, what, comm_);
  (void)api_->ncclCommAbort(std::exchange(comm_, nullptr));
  return processes_.give_up(error, ranks_);
}

// What only moves is bytes.
Status Group::call(const Exchange& exchange, std::span<const core::BufferView> buffers) {
  if (exchange.kind == ExchangeKind::Reduce) return sum(exchange, buffers);
  void *to = pointer(address_of(buffers[0])), *from = pointer(address_of(buffers[1]));
  const usize bytes = static_cast<usize>(exchange.bytes), block = bytes / ranks_.size();
  switch (exchange.kind) {
    case ExchangeKind::ReduceScatter:
      return api_->ncclReduceScatter(from, to, block / static_cast<usize>(exchange.dtype.bytes()),
                                     *type_of(exchange.dtype),
                                     *combine_of(exchange.op, exchange.dtype), comm_, stream_);
    case ExchangeKind::Gather:
      return api_->ncclAllGather(from, to, bytes, Type::U8, comm_, stream_);
    case ExchangeKind::Broadcast:
      return api_->ncclBroadcast(from, to, bytes, Type::U8, exchange.root, comm_, stream_);
    default: return swap(address_of(buffers[0]), address_of(buffers[1]), block);
  }
}

// Of several values at once.
Status Group::sum(const Exchange& exchange, std::span<const core::BufferView> buffers) {
  const usize values = buffers.size() / 2;
  Status status = api_->ncclGroupStart();
  for (usize i = 0; i < values && status == Status::Success; ++i) {
    const i64 bytes = values == 1 ? exchange.bytes : exchange.parts[i];
    status = api_->ncclAllReduce(
        pointer(address_of(buffers[values + i])), pointer(address_of(buffers[i])),
        static_cast<usize>(bytes / exchange.dtype.bytes()), *type_of(exchange.dtype),
        *combine_of(exchange.op, exchange.dtype), comm_, stream_);
  }
  const Status ended = api_->ncclGroupEnd();
  return status == Status::Success ? ended : status;
}

Status Group::swap(u64 to, u64 from, usize block) {
  Status status = api_->ncclGroupStart();
  for (usize i = 0; i < ranks_.size() && status == Status::Success; ++i) {
    const int peer = static_cast<int>(i);
    status = api_->ncclSend(pointer(from + i * block), block, Type::U8, peer, comm_, stream_);
    if (status == Status::Success)
      status = api_->ncclRecv(pointer(to + i * block), block, Type::U8, peer, comm_, stream_);
  }
  const Status ended = api_->ncclGroupEnd();
  return status == Status::Success ? ended : status;
}

Result<void> Group::copy(u64 to, u64 from, i64 bytes) {
  if (bytes == 0) return {};
  Context& context = device_.context();
  TRY(context.check(context.api().cuMemcpyAsync(to, from, static_cast<usize>(bytes), stream_),
                    "cuMemcpyAsync"));
  return context.check(context.api().cuStreamSynchronize(stream_), "cuStreamSynchronize");
}

Result<void> Group::run_through_host(const Exchange& exchange,
                                     std::span<const core::BufferView> buffers,
                                     core::Program& program) {
  const usize values = buffers.size() / 2;
  const auto given = [&](usize i) { return values == 1 ? exchange.bytes : exchange.parts[i]; };
  const auto got = [&](usize i) { return values == 1 ? core::result_bytes(exchange) : given(i); };
  std::vector<Staging> staged;
  std::vector<core::Ref<core::Buffer>> owners;
  std::vector<core::BufferView> views;
  for (usize i = 0; i < 2 * values; ++i) {
    TRY(Staging memory, Staging::make(device_, i < values ? got(i) : given(i - values)));
    owners.push_back(memory.buffer(processes_.device()));
    views.push_back({owners.back().get(), 0});
    staged.push_back(std::move(memory));
  }
  for (usize i = values; i < 2 * values; ++i)
    TRY(copy(staged[i].address(), address_of(buffers[i]), given(i - values)));
  TRY(program.launch(views, {}));
  for (usize i = 0; i < values; ++i) TRY(copy(address_of(buffers[i]), staged[i].address(), got(i)));
  return {};
}

}  // namespace doorbell::cuda::nccl
