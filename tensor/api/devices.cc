// Where tensors are: moving them to a device or to several, and storage there. What ops do with
// values on several devices is core's: core/uop/placement.h, core/schedule/shard.h.
#include "tensor/api/devices.h"

#include <algorithm>

#include "base/util/check.h"
#include "core/schedule/exchange.h"
#include "core/uop/placement.h"
#include "tensor/api/axes.h"
#include "tensor/api/cell.h"
#include "tensor/api/disk.h"
#include "tensor/api/node.h"
#include "tensor/api/sharding.h"
#include "tensor/engine/realize.h"

namespace doorbell {

using core::Op;
using core::UOp;
using core::UOpRef;

Devices::Devices(std::string_view names) {
  if (detail::disk_path(names)) {
    names_.emplace_back(names);  // paths may have commas
    return;
  }
  while (true) {
    const usize comma = std::min(names.find(','), names.size());
    names_.emplace_back(names.substr(0, comma));
    if (comma == names.size()) return;
    names.remove_prefix(comma + 1);
  }
}

namespace {

std::vector<u16> open(const Devices& devices) {
  if (devices.names().empty()) throw fail(ErrorKind::Invalid, "no devices to put a tensor on");
  std::vector<u16> numbers;
  for (const std::string& name : devices.names()) {
    if (detail::disk_path(name))
      throw fail(ErrorKind::Unsupported,
                 "a tensor on the file {} is made by empty() or to(), and by nothing else", name);
    const core::Device& device = engine::device(name);
    detail::note_disk(device);
    if (std::ranges::find(numbers, device.index()) != numbers.end())
      throw fail(ErrorKind::Invalid, "device {} is named twice", device.name());
    numbers.push_back(device.index());
  }
  return numbers;
}

std::vector<u16> devices_at(u16 at) {
  if (!core::is_placement(at)) return {static_cast<u16>(at - 1)};
  const core::Placement placement = core::placement_of(at);
  return {placement.devices.begin(), placement.devices.end()};
}

void check_split(const Tensor& x, i64 axis, i64 devices) {
  const Size size = x.size(axis);
  if (!size.is_const()) {
    throw fail(ErrorKind::Unsupported,
               "axis {} of shape {} to be split over {} devices has no "
               "constant size",
               axis, x.shape().str(), devices);
  }
  if (size.value() % devices != 0) {
    throw fail(ErrorKind::Invalid,
               "axis {} of shape {} has {} elements, which {} devices cannot share evenly", axis,
               x.shape().str(), size.value(), devices);
  }
}

Tensor shard_at(const Tensor& x, u16 at) {
  const core::Placement placement = core::placement_of(at);
  for (const core::MeshAxis& one : placement.axes)
    if (one.is_split()) check_split(x, one.axis, core::parts_along(placement.axes, one.axis));
  std::vector<i64> args{placement.layout};
  args.insert(args.end(), placement.devices.begin(), placement.devices.end());
  const Tensor* src = &x;
  return detail::make(Op::Shard, x.dtype(), {&src, 1}, args);
}

}  // namespace

u16 detail::device_number_of(const Tensor& x) {
  const u16 at = x.uop()->device();
  return at != 0 ? at : static_cast<u16>(engine::device().index() + 1);
}

u16 detail::device_number_named(const Devices& devices) {
  const std::vector<u16> numbers = open(devices);
  if (numbers.size() == 1) return static_cast<u16>(numbers[0] + 1);
  return core::intern_placement(numbers, core::kReplicated);
}

Tensor detail::moved_to(const Tensor& x, u16 at) {
  const u16 current = x.uop()->device();
  if (current == at || at == 0) return x;
  if (core::is_placement(at)) return shard_at(x, at);
  if (current == 0) return x;
  return make(Op::Copy, x.dtype(), {&x}, {at - 1});
}

Tensor detail::own_part(const Tensor& x) {
  const u16 at = x.uop()->device();
  const i64 own = core::is_placement(at) ? core::own_part(core::placement_of(at).devices) : -1;
  if (own < 0)
    throw fail(ErrorKind::Invalid, "a tensor of shape {} on {} has no part in this process",
               x.shape().str(), x.device());
  const core::Placement from = core::placement_of(at);
  std::vector<i64> args{from.devices[static_cast<usize>(own)],
                        static_cast<i64>(core::ExchangeKind::Own), 0, 0};
  for (i64 size : core::window_of_part(x.shape().values(), from.axes, own).size)
    args.push_back(size);
  const Tensor* src = &x;
  return make(Op::Copy, x.dtype(), {&src, 1}, args);
}

Tensor detail::united(const Tensor& x, u16 at) {
  const core::Placement placement = core::placement_of(at);
  std::vector<i64> args{core::kUnited + placement.layout};
  args.insert(args.end(), placement.devices.begin(), placement.devices.end());
  const Tensor* src = &x;
  return make(Op::Shard, x.dtype(), {&src, 1}, args);
}

UOpRef detail::make_storage(u16 at, DType dtype, const std::vector<i64>& sizes,
                            std::span<const std::byte> data) {
  std::vector<i64> own = sizes;
  i64 layout = core::kReplicated;
  if (core::is_placement(at)) {
    layout = core::placement_of(at).layout;
    own = core::window_of_part(sizes, core::placement_of(at).axes, 0).size;
  }
  CHECK(layout == core::kReplicated || data.empty(), "data for a value in parts");
  std::vector<UOpRef> owners;
  std::vector<UOp> parts;
  for (u16 number : devices_at(at)) {
    core::Device& device = engine::device_at(number);
    owners.push_back(engine::make_buffer_node(device, dtype, own, data));
    parts.push_back(*owners.back());
  }
  if (!core::is_placement(at)) return owners[0];
  return TensorGraph::make(Op::Multi, dtype, parts, {&layout, 1});
}

Tensor detail::stored_at(const Tensor& x, u16 at) {
  const UOpRef node = x.uop();
  std::vector<i64> largest;
  absl::InlinedVector<core::Dim, 4> shape;
  for (usize axis = 0; axis < node->ndim(); ++axis) {
    shape.push_back(node->dim(axis));
    largest.push_back(shape.back().max());
  }
  if (core::is_placement(at)) refuse_symbolic(x);
  UOpRef memory = make_storage(at, x.dtype(), largest, {});
  if (!x.shape().is_const()) memory = engine::view_of_buffer(*memory, shape);
  const Tensor place = Tensor::from_uop(std::move(memory));
  return make(Op::Assign, x.dtype(), {&place, &x});
}

// A symbolic shape is stored in memory of the largest shape, which parts have no common form of.
void detail::refuse_symbolic(const Tensor& tensor) {
  if (tensor.shape().is_const()) return;
  throw fail(ErrorKind::Unsupported, "a tensor of shape {} on devices {} cannot be stored",
             tensor.shape().str(), tensor.device());
}

std::string Tensor::device() const { return engine::device_name(detail::device_number_of(*this)); }

std::vector<std::string> Tensor::devices() const { return Devices(device()).names(); }

std::optional<i64> Tensor::shard_axis() const {
  const u16 at = uop()->device();
  if (!core::is_placement(at) || !core::placement_of(at).is_split()) return std::nullopt;
  i64 found = core::kReplicated;
  for (const core::MeshAxis& one : core::placement_of(at).axes) {
    if (!one.is_split() || one.axis == found) continue;
    if (found != core::kReplicated)
      throw fail(ErrorKind::Invalid, "a tensor on {} lies in parts{}: along more than one axis",
                 device(), engine::layout_name(at));
    found = one.axis;
  }
  return found;
}

namespace {

// A new file, or the beginning of the one that is there.
Tensor stored_in_file(const Tensor& x, const std::string& path) {
  detail::refuse_in_capture("a file is written");
  Tensor file = Tensor::empty(x.shape(), {.dtype = x.dtype(), .device = "DISK:" + path});
  return file.assign(x);
}

Tensor copied_from_file(const Tensor& x, u16 at) {
  detail::refuse_in_capture("a file is read");
  return detail::read_disk(x, at);
}

}  // namespace

Tensor Tensor::to(const Devices& devices) const {
  if (devices.names().size() == 1)
    if (const auto path = detail::disk_path(devices.names()[0]))
      return stored_in_file(*this, *path);
  const u16 at = detail::device_number_named(devices), current = uop()->device();
  if (current == at) return *this;
  if (detail::on_disk(current)) return copied_from_file(*this, at);
  if (detail::on_disk(at))
    throw fail(ErrorKind::Invalid, "DISK without a file: name one, as in \"DISK:/path\"");
  if (core::is_placement(at)) return shard_at(*this, at);
  if (current == 0) return detail::stored_at(*this, at);
  return detail::make(Op::Copy, dtype(), {this}, {at - 1});
}

Tensor Tensor::shard(const Devices& devices, std::optional<i64> axis) const {
  const u16 at = detail::device_number_named(devices);
  if (!core::is_placement(at)) return to(devices);
  const u16 split = axis ? core::with_layout(at, detail::resolve_axis(*axis, ndim())) : at;
  if (detail::on_disk(*this)) return copied_from_file(*this, split);
  return uop()->device() == split ? *this : shard_at(*this, split);
}

Tensor Tensor::shard_like(const Tensor& other) const {
  const u16 at = other.uop()->device();
  if (!core::is_placement(at)) return to(other.device());
  const core::Placement placement = core::placement_of(at);
  if (uop()->device() == at) return *this;
  if (detail::on_disk(*this)) return copied_from_file(*this, at);
  if (placement.is_split() && ndim() != other.ndim()) {
    throw fail(ErrorKind::Invalid, "shape {} cannot be split as shape {} is{}", shape().str(),
               other.shape().str(), engine::layout_name(at));
  }
  return shard_at(*this, at);
}

Tensor& detail::move_(Tensor& x, const std::function<Tensor(const Tensor&)>& to) {
  Cell& cell = Access::cell(x);
  if (!cell.is_leaf) return x.replace(to(x));
  NoGradScope no_grad;  // a leaf stays one, with its gradient
  const Tensor gradient = cell.grad, moved = to(x);
  cell.unlink();
  cell.set_value(moved.uop(), false);
  if (gradient.defined()) cell.set_gradient(to(gradient));
  return x;
}

Tensor& Tensor::shard_(const Devices& devices, std::optional<i64> axis) {
  return detail::move_(*this, [&](const Tensor& x) { return x.shard(devices, axis); });
}

Tensor& Tensor::to_(const Devices& devices) { return shard_(devices); }

Tensor Tensor::clone() const { return detail::stored_at(*this, detail::device_number_of(*this)); }

}  // namespace doorbell
