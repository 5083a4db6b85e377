// Joining, and collectives as compositions: the schedule makes exchanges of them.
#include "tensor/dist/dist.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "core/device/registry.h"
#include "core/schedule/exchange.h"
#include "core/uop/placement.h"
#include "tensor/api/node.h"
#include "tensor/api/sharding.h"
#include "tensor/dist/connect.h"
#include "tensor/dist/mesh.h"
#include "tensor/engine/kernel_compiler.h"
#include "tensor/engine/must.h"
#include "tensor/engine/realize.h"

namespace doorbell::dist {

using core::Op;

namespace {

constinit detail::Connect connect_function = nullptr;
constinit std::atomic<bool> is_destroyed{false};

core::Communicator* others() { return core::Registry::instance().communicator(); }

void leave() { others()->leave(); }

Tensor stacked(const Tensor& x) { return from_local(x.unsqueeze(0), devices(), 0); }

Tensor combined(const Tensor& x, ReduceOp op) {
  switch (op) {
    case ReduceOp::Sum: return x.sum(0);
    case ReduceOp::Mean: return x.mean(0);
    case ReduceOp::Product: return x.prod(0);
    case ReduceOp::Max: return x.max(0);
    case ReduceOp::Min: break;
  }
  return x.min(0);
}

// Back to the device that x was on.
Tensor returned(const Tensor& result, const Tensor& x) { return result.to(x.device()); }

void check_rank(int rank) {
  if (rank < 0 || rank >= world_size())
    throw fail(ErrorKind::Invalid, "rank {}: ranks are 0 to {}", rank, world_size() - 1);
}

core::Device& device_of_rank(int rank) {
  check_rank(rank);
  if (rank == dist::rank()) throw fail(ErrorKind::Invalid, "rank {} is this process itself", rank);
  return engine::device(fmt::format("CPU@{}", rank));
}

}  // namespace

void detail::set_connect(Connect connect) { connect_function = connect; }

void init(const InitOptions& options) {
  engine::ensure_runtime();
  static std::mutex& mutex = *new std::mutex;
  std::lock_guard lock(mutex);
  if (is_initialized()) return;
  if (is_destroyed)
    throw fail(ErrorKind::Unsupported, "this process has left the others, and cannot join again");
  if (!(options.timeout_s > 0))
    throw fail(ErrorKind::Invalid, "a timeout of {} s", options.timeout_s);
  if (connect_function == nullptr)
    throw fail(ErrorKind::Unsupported, "this program has no way to other processes");
  core::Registry::instance().set_communicator(*engine::must(connect_function(options)));
  std::atexit(leave);
}

bool is_initialized() { return others() != nullptr && !is_destroyed; }

void destroy() {
  if (!is_initialized()) return;
  barrier();
  is_destroyed = true;
  leave();
}

int rank() { return others() != nullptr ? others()->rank() : 0; }
int world_size() { return others() != nullptr ? others()->size() : 1; }
int local_rank() { return others() != nullptr ? others()->local_rank() : 0; }

Devices devices(std::string_view device) {
  const std::string name(device.empty() ? engine::device().name() : std::string(device));
  if (world_size() == 1) return name;
  std::vector<std::string> names;
  for (int i = 0; i < world_size(); ++i) names.push_back(fmt::format("{}@{}", name, i));
  return names;
}

Tensor detail::united_part(const Tensor& x, u16 at) {
  const core::Placement placement = core::placement_of(at);
  if (core::is_placement(x.uop()->device()))
    throw fail(ErrorKind::Invalid, "this process's part is on {}, expected one device", x.device());
  if (!core::can_exchange(placement.devices) || core::own_part(placement.devices) < 0)
    throw fail(ErrorKind::Invalid,
               "devices {} are not one of each process with this one among them",
               engine::device_name(at));
  if (!x.shape().is_const())
    throw fail(ErrorKind::Unsupported, "a part of shape {} has no constant size", x.shape().str());
  return doorbell::detail::united(x, at);
}

Tensor from_local(const Tensor& x, const Devices& on, i64 axis) {
  const u16 at = doorbell::detail::device_number_named(on);
  if (!core::is_placement(at)) return x.to(on);
  const i64 rank = static_cast<i64>(x.ndim()), resolved = axis < 0 ? axis + rank : axis;
  if (resolved < 0 || resolved >= rank)
    throw fail(ErrorKind::Invalid, "axis {} of shape {}", axis, x.shape().str());
  return detail::united_part(x, core::with_layout(at, resolved));
}

Tensor to_local(const Tensor& x) {
  return world_size() == 1 && !core::is_placement(x.uop()->device())
             ? x
             : doorbell::detail::own_part(x);
}

Tensor all_reduce(const Tensor& x, ReduceOp op) {
  if (world_size() == 1) return x;
  return returned(combined(stacked(x), op), x).cast(x.dtype());
}

Tensor all_gather(const Tensor& x) {
  return world_size() == 1 ? x.unsqueeze(0) : returned(stacked(x), x);
}

Tensor reduce_scatter(const Tensor& x, ReduceOp op) {
  if (world_size() == 1) return x;
  return to_local(combined(stacked(x), op).shard(devices(), 0)).cast(x.dtype());
}

Tensor all_to_all(const Tensor& x) {
  if (world_size() == 1) return x;
  return to_local(stacked(x).shard(devices(), 1)).squeeze(1);
}

Tensor broadcast(const Tensor& x, int from) {
  check_rank(from);
  return world_size() == 1 ? x : returned(stacked(x)[from], x);
}

void barrier() { all_reduce(Tensor::zeros({1}, {.dtype = dtypes::i32})).to_vector<i32>(); }

void send(const Tensor& x, int to) {
  const core::Device& device = device_of_rank(to);
  NoGradScope no_grad;
  const Tensor here = x.contiguous().realize();
  doorbell::detail::make(Op::Copy, x.dtype(), {&here}, {device.index()}).realize();
  engine::synchronize();
}

Tensor recv(const Shape& shape, int from, const TensorOptions& options) {
  const core::Device& device = device_of_rank(from);
  NoGradScope no_grad;
  const DType dtype = options.dtype.value_or(dtypes::f32);
  const Tensor there = Tensor::from_uop(doorbell::detail::make_storage(
      static_cast<u16>(device.index() + 1), dtype, shape.values(), {}));
  const u16 at = doorbell::detail::device_number_named(options.device);
  Tensor here = doorbell::detail::make(Op::Copy, dtype, {&there}, {at - 1});
  here.realize();
  engine::synchronize();
  return here;
}

}  // namespace doorbell::dist
