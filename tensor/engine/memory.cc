// Buffer nodes over memory, and the bytes behind them.
#include <absl/container/inlined_vector.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "base/util/check.h"
#include "core/device/registry.h"
#include "core/uop/placement.h"
#include "tensor/engine/in_flight.h"
#include "tensor/engine/kernel_compiler.h"
#include "tensor/engine/must.h"
#include "tensor/engine/plan.h"
#include "tensor/engine/realize.h"

namespace doorbell::engine {
namespace {

using core::Buffer;
using core::Device;
using core::Registry;
using core::TensorGraph;
using core::UOp;
using core::UOpRef;

i64 bytes_of(core::DType dtype, std::span<const i64> shape) {
  i64 bytes = dtype.bytes();
  for (i64 size : shape)
    if (__builtin_mul_overflow(bytes, size, &bytes))
      throw fail(ErrorKind::OutOfMemory, "the size of a tensor of rank {} overflows", shape.size());
  return bytes;
}

// Args of a movement op, the symbolic ones as sources behind the first.
struct Sizes {
  absl::InlinedVector<UOp, 4> sources;
  absl::InlinedVector<i64, 8> args;

  explicit Sizes(UOp of) : sources{of} {}
  void add(core::Dim size) {
    if (size.is_const()) return args.push_back(size.value());
    args.push_back(core::kDynamicDim + static_cast<i64>(sources.size()) - 1);
    sources.push_back(size.expr());
  }
  UOpRef make(core::Op op) const {
    return TensorGraph::make(op, sources[0].dtype(), sources, args);
  }
};

UOpRef product(std::span<const core::Dim> shape) {
  i64 constant = 1;
  for (const core::Dim size : shape)
    if (size.is_const()) constant *= size.value();
  UOpRef total = TensorGraph::make(core::Op::Const, core::dtypes::index, {}, {constant});
  for (const core::Dim size : shape)
    if (!size.is_const())
      total = TensorGraph::make(core::Op::Mul, core::dtypes::index, {*total, size.expr()});
  return total;
}

}  // namespace

i64 next_buffer_id() {
  // Threads take them by the block: one number each would cost each replay a shared counter.
  constexpr i64 kBlock = 256;
  static constinit std::atomic<i64> next_block{0};
  static constinit thread_local i64 next = 0, end = 0;
  if (next == end) {
    next = next_block.fetch_add(kBlock, std::memory_order_relaxed);
    end = next + kBlock;
  }
  return next++;
}

UOpRef make_buffer_node(core::Ref<Buffer> buffer, core::DType dtype, std::span<const i64> shape) {
  CHECK_GE(buffer->bytes(), bytes_of(dtype, shape));
  absl::InlinedVector<i64, 8> args{next_buffer_id(), 0, buffer->device().index()};
  args.insert(args.end(), shape.begin(), shape.end());
  return TensorGraph::make_buffer(dtype, args, std::move(buffer));
}

UOpRef make_buffer_node(Device& device, core::DType dtype, std::span<const i64> shape,
                        std::span<const std::byte> data) {
  const i64 bytes = bytes_of(dtype, shape);
  CHECK(data.empty() || static_cast<i64>(data.size()) == bytes, "{} bytes for a value of {}",
        data.size(), bytes);
  core::Ref<Buffer> buffer = take_memory(device, bytes);
  const bool is_remote = Registry::instance().is_remote(device.index());
  if (!data.empty() && !is_remote) must(buffer->copy_in(data.data(), bytes));
  return make_buffer_node(std::move(buffer), dtype, shape);
}

UOpRef view_of_buffer(UOp buffer, std::span<const core::Dim> shape) {
  i64 count = 1;
  for (usize axis = 0; axis < buffer.ndim(); ++axis) count *= buffer.dim(axis).value();
  Sizes flat(buffer);
  flat.add(count);
  const UOpRef all = flat.make(core::Op::Reshape), elements = product(shape);
  Sizes part(*all);
  part.add(0);
  part.add(core::Dim(*elements));
  const UOpRef used = part.make(core::Op::Shrink);
  Sizes shaped(*used);
  for (const core::Dim size : shape) shaped.add(size);
  UOpRef view = shaped.make(core::Op::Reshape);
  TensorGraph::set_realized(*view, buffer);
  return view;
}

UOpRef materialized_node(UOp realized, UOpRef holder) {
  const UOp buffer = TensorGraph::realized(realized);
  bool is_const = true;
  for (usize axis = 0; axis < realized.ndim(); ++axis) is_const &= realized.dim(axis).is_const();
  if (is_const) return *holder == buffer ? std::move(holder) : UOpRef(buffer);
  absl::InlinedVector<core::Dim, 4> shape;
  for (usize axis = 0; axis < realized.ndim(); ++axis) shape.push_back(realized.dim(axis));
  return view_of_buffer(buffer, shape);
}

Buffer& buffer_of(UOp node) {
  const UOp holder = TensorGraph::realized(node);
  CHECK(holder, "{} is not realised", name_of(node.op()));
  CHECK(holder.payload() != nullptr, "buffer node {} has no memory", holder.id());
  auto& buffer = *static_cast<Buffer*>(holder.payload());
  refuse_poisoned(buffer);
  return buffer;
}

namespace {

bool is_remote(UOp part) {
  return Registry::instance().is_remote(static_cast<u16>(part.device() - 1));
}

void read_buffer(UOp node, std::span<std::byte> out) {
  Buffer& buffer = buffer_of(node);
  if (Registry::instance().is_remote(buffer.device().index()))
    throw fail(ErrorKind::Unsupported,
               "elements on {} are another process's: move the tensor to \"{}\" first, in all "
               "processes",
               buffer.device().name(), device().name());
  must(buffer.device().synchronize());
  refuse_poisoned(buffer);
  in_flight().sweep();
  must(buffer.copy_out(out.data(), static_cast<i64>(out.size())));
}

// What a part has, row by row of the last axis, to its window of a value of these sizes.
void place_part(std::span<const std::byte> part, const core::PartWindow& window,
                std::span<const i64> sizes, i64 bytes, std::span<std::byte> out) {
  const usize rank = sizes.size();
  const usize row = static_cast<usize>(window.size[rank - 1] * bytes);
  std::vector<i64> at(rank, 0);
  for (usize from = 0; from < part.size(); from += row) {
    i64 to = 0;
    for (usize i = 0; i < rank; ++i) to = to * sizes[i] + window.first[i] + at[i];
    std::memcpy(out.data() + to * bytes, part.data() + from, row);
    for (usize i = rank - 1; i-- > 0;) {
      if (++at[i] < window.size[i]) break;
      at[i] = 0;
    }
  }
}

void read_split(UOp node, std::span<std::byte> out) {
  if (out.empty()) return;
  const core::MeshAxes axes = core::mesh_axes_of(node.arg(0), node.nsrc());
  std::vector<i64> sizes;
  for (usize i = 0; i < node.ndim(); ++i) sizes.push_back(node.dim(i).value());
  // Of copies one, in memory of this process where there is one.
  std::vector<std::pair<core::PartWindow, UOp>> parts;
  for (usize i = 0; i < node.nsrc(); ++i) {
    core::PartWindow window = core::window_of_part(sizes, axes, static_cast<i64>(i));
    const auto same = [&](const auto& part) { return part.first == window; };
    const auto found = std::ranges::find_if(parts, same);
    if (found == parts.end())
      parts.emplace_back(std::move(window), node.src(i));
    else if (is_remote(found->second))
      found->second = node.src(i);
  }
  std::vector<std::byte> bytes(out.size() / parts.size());
  for (const auto& [window, part] : parts) {
    read_buffer(part, bytes);
    place_part(bytes, window, sizes, node.dtype().bytes(), out);
  }
}

}  // namespace

void read_bytes(UOp node, std::span<std::byte> out) {
  if (!node.is(core::Op::Multi)) return read_buffer(node, out);
  if (node.arg(0) == core::kReplicated) {
    for (UOp copy : node.srcs())
      if (!is_remote(copy)) return read_buffer(copy, out);
    return read_buffer(node.src(0), out);
  }
  read_split(node, out);
}

std::string layout_name(u16 device) {
  if (!core::is_placement(device)) return {};
  const core::Placement placement = core::placement_of(device);
  if (!placement.is_split()) return {};
  if (placement.is_line()) return fmt::format(" along axis {}", placement.layout);
  std::string text = " along axes";
  for (const core::MeshAxis& one : placement.axes)
    text += one.is_split() ? fmt::format(" {} over {}", one.axis, one.count)
                           : fmt::format(" none over {}", one.count);
  return text;
}

std::string device_name(u16 device) {
  const Registry& registry = Registry::instance();
  if (!core::is_placement(device)) return registry.name_of(static_cast<u16>(device - 1));
  const auto devices = core::placement_of(device).devices;
  const bool spans = std::ranges::any_of(devices, [&](u16 one) { return registry.is_remote(one); });
  std::string names;
  for (u16 one : devices) {
    names += (names.empty() ? "" : ",") + registry.name_of(one);
    // The same name in every process.
    if (spans && !registry.is_remote(one)) names += fmt::format("@{}", registry.rank_of(one));
  }
  return names;
}

Device& device(std::string_view name) {
  ensure_runtime();
  Registry& registry = Registry::instance();
  return *must(name.empty() ? registry.default_device() : registry.open(name));
}

Device& device_at(u16 number) {
  ensure_runtime();
  return *must(Registry::instance().at(number));
}

Device& device_of(UOp node) {
  return node.device() == 0 ? device() : device_at(static_cast<u16>(node.device() - 1));
}

void synchronize() {
  ensure_runtime();
  Result<void> first_error;
  // One that failed does not keep the others from being waited for.
  for (Device* open : Registry::instance().open_devices()) {
    Result<void> done = open->synchronize();
    if (!done && first_error) first_error = std::move(done);
  }
  in_flight().sweep();
  must(std::move(first_error));
}

}  // namespace doorbell::engine
