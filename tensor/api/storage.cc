// Data in and out: tensors over memory, realisation, reading, and the functions that change what a
// handle holds. Memory and computing are the engine's.
#include "tensor/api/storage.h"

#include <algorithm>
#include <cstring>

#include "base/os/host.h"
#include "base/util/check.h"
#include "core/device/device.h"
#include "core/uop/placement.h"
#include "hcq/device.h"
#include "tensor/api/axes.h"
#include "tensor/api/cell.h"
#include "tensor/api/disk.h"
#include "tensor/api/node.h"
#include "tensor/api/promotion.h"
#include "tensor/api/sharding.h"
#include "tensor/api/view.h"
#include "tensor/engine/must.h"
#include "tensor/engine/realize.h"

namespace doorbell {

using core::Op;
using core::UOp;
using core::UOpRef;

namespace {

void flatten_into(const Nested& nested, usize depth, std::vector<i64>& shape,
                  std::vector<Number>& numbers) {
  // Braces nest as deep as the source text: recursion is bounded by what someone typed.
  if (nested.is_leaf()) {
    if (depth != shape.size())
      throw fail(ErrorKind::Invalid, "a number beside braces at depth {}", depth);
    numbers.push_back(nested.number());
    return;
  }
  const i64 count = static_cast<i64>(nested.items().size());
  if (depth == shape.size() && numbers.empty()) {
    shape.push_back(count);
  } else if (depth >= shape.size() || shape[depth] != count) {
    throw fail(ErrorKind::Invalid, "braces of {} items beside braces of {} at depth {}", count,
               depth < shape.size() ? shape[depth] : 0, depth);
  }
  for (const Nested& item : nested.items()) flatten_into(item, depth + 1, shape, numbers);
}

// What holds all of them: floats beside integers are as floats.
DType common_dtype(std::span<const Number> numbers) {
  DType dtype = dtypes::bool_;
  for (const Number& number : numbers) {
    if (number.is_float()) return dtypes::f32;
    const DType own = number.dtype();
    if (own.bytes() > dtype.bytes() || own == dtypes::u64) dtype = own;
  }
  return numbers.empty() ? dtypes::f32 : dtype;
}

// No integers hold both 2^63 and -1, and no float all that lies between.
void refuse_mixed_signs(std::span<const Number> numbers) {
  const auto above = std::find_if(numbers.begin(), numbers.end(),
                                  [](const Number& number) { return number.exceeds_i64(); });
  const auto below = std::find_if(numbers.begin(), numbers.end(), [](const Number& number) {
    return !number.exceeds_i64() && number.integer() < 0;
  });
  if (above == numbers.end() || below == numbers.end()) return;
  throw fail(ErrorKind::Invalid, "{} does not fit a dtype that holds {} too",
             static_cast<u64>(above->integer()), below->integer());
}

Tensor from_buffer(UOpRef node) { return Tensor::from_uop(std::move(node)); }

std::vector<i64> checked_sizes(const Shape& shape) {
  std::vector<i64> sizes = shape.values();
  for (i64 size : sizes) {
    if (size < 0) throw fail(ErrorKind::Invalid, "shape {} has a negative size", shape.str());
  }
  if (sizes.size() > core::kMaxRank) {
    throw fail(ErrorKind::Unsupported, "shape {} has more than {} axes", shape.str(),
               core::kMaxRank);
  }
  if (shape.numel().value() > detail::kMaxElements) detail::refuse_count(shape);
  return sizes;
}

}  // namespace

Tensor detail::finish(Tensor tensor, const TensorOptions& options) {
  tensor = unshared(tensor);  // not with the number that it repeats
  if (!options.device.empty()) tensor = tensor.to(options.device);
  if (options.requires_grad) tensor.requires_grad();
  return tensor;
}

TensorOptions detail::options_like(const Tensor& x, const TensorOptions& options) {
  TensorOptions chosen = options;
  if (!chosen.dtype) chosen.dtype = x.dtype();
  if (chosen.device.empty()) chosen.device = x.device();
  return chosen;
}

Tensor Tensor::of(const Nested& values, const TensorOptions& options) {
  std::vector<i64> shape;
  std::vector<Number> numbers;
  flatten_into(values, 0, shape, numbers);
  return detail::from_numbers(numbers, shape, options);
}

Tensor detail::from_numbers(std::span<const Number> numbers, const Shape& shape,
                            const TensorOptions& options) {
  const DType own = common_dtype(numbers);
  if (own == dtypes::u64 && !options.dtype) refuse_mixed_signs(numbers);
  TensorOptions rest = options;
  rest.dtype = options.dtype.value_or(own);
  for (const Number& number : numbers) detail::check_holds(*rest.dtype, number);
  auto convert = [&]<class T>(DType layout, T (*bits)(const Number&, DType)) {
    std::vector<T> data;
    data.reserve(numbers.size());
    for (const Number& number : numbers) data.push_back(bits(number, *rest.dtype));
    return Tensor::from_bytes(std::as_bytes(std::span<const T>(data)), layout, shape, rest);
  };
  // What the text says is exact where f64 or integers are asked for.
  const bool is_long = rest.dtype->bytes() == 8 || own == dtypes::u64 || own.is_float();
  if (rest.dtype->is_int() && is_long) {
    const DType layout = *rest.dtype == dtypes::u64 ? dtypes::u64 : dtypes::i64;
    return convert(layout, &detail::integer_bits);
  }
  if (rest.dtype == dtypes::f64)
    return convert(dtypes::f64, +[](const Number& x, DType) { return x.real(); });
  if (own.is_float())
    return convert(dtypes::f32, +[](const Number& x, DType) { return static_cast<f32>(x.real()); });
  if (own == dtypes::i32)
    return convert(own, +[](const Number& x, DType) { return static_cast<i32>(x.integer()); });
  if (own.is_int()) return convert(own, +[](const Number& x, DType) { return x.integer(); });
  return convert(own, +[](const Number& x, DType) { return static_cast<u8>(x.integer()); });
}

Tensor Tensor::from_bytes(std::span<const std::byte> bytes, DType dtype, const Shape& shape,
                          const TensorOptions& options) {
  const std::vector<i64> sizes = checked_sizes(shape);
  const i64 expected = detail::bytes_of(shape.numel().value(), dtype);
  if (static_cast<i64>(bytes.size()) != expected) {
    throw fail(ErrorKind::Invalid, "{} bytes of data, shape {} of {} has {}", bytes.size(),
               shape.str(), core::long_name_of(dtype.scalar), expected);
  }
  if (detail::disk_path(options.device)) {
    TensorOptions host = options;
    host.device = "CPU";
    return from_bytes(bytes, dtype, shape, host).to(options.device);
  }
  const u16 at = detail::device_number_named(options.device);
  Tensor tensor = Tensor::from_uop(detail::make_storage(at, dtype, sizes, bytes));
  if (options.dtype) tensor = tensor.cast(*options.dtype);
  if (options.requires_grad) tensor.requires_grad();
  return tensor;
}

Tensor Tensor::from_file(const std::string& path, const TensorOptions& options) {
  const u16 at = detail::device_number_named(options.device);
  const core::FileUse use = detail::on_disk(at) ? core::FileUse::Write : core::FileUse::Read;
  const Tensor file =
      detail::disk_tensor(engine::must(core::open_stored(os::host_files(), path, use)),
                          options.dtype.value_or(dtypes::u8), {}, 0);
  Tensor tensor = detail::on_disk(at) ? file : detail::read_disk(file, at);
  if (options.requires_grad) tensor.requires_grad();
  return tensor;
}

namespace {

// A device whose own memory lies where the host sees it uses the host's too.
// The caller's memory as the device sees it: the host's, or the device's own.
core::Allocation memory_of_caller(core::Device& device, void* memory, i64 bytes) {
  if (hcq::Device* queues = hcq::Device::of(device)) {
    Result<core::Allocation> foreign = queues->foreign_memory(memory, bytes);
    if (foreign || foreign.error().kind != ErrorKind::Unsupported)
      return engine::must(std::move(foreign));
  }
  const core::Ref<core::Buffer> probe = engine::must(core::Buffer::allocate(device, 1));
  const void* host = probe->host();
  const bool shared = host != nullptr && probe->memory().address == reinterpret_cast<u64>(host);
  if (shared || !device.runs())
    return {.host = memory, .address = reinterpret_cast<u64>(memory), .bytes = bytes};
  throw fail(ErrorKind::Unsupported,
             "device {} cannot use the host's memory in place; copy it with from_bytes",
             device.name());
}

}  // namespace

Tensor detail::wrap_memory(void* memory, DType dtype, const Shape& shape,
                           const std::string& device_name, std::function<void()> release) {
  const std::vector<i64> sizes = checked_sizes(shape);
  core::Device& device = engine::device(device_name);
  const core::Allocation allocation =
      memory_of_caller(device, memory, detail::bytes_of(shape.numel().value(), dtype));
  return from_buffer(engine::make_buffer_node(
      core::Buffer::wrap(device, allocation, std::move(release)), dtype, sizes));
}

Tensor Tensor::from_blob(void* memory, DType dtype, const Shape& shape,
                         const TensorOptions& options) {
  if (options.dtype && *options.dtype != dtype) {
    throw fail(ErrorKind::Invalid, "memory of {} as a tensor of {}; cast the tensor",
               core::long_name_of(dtype.scalar), core::long_name_of(options.dtype->scalar));
  }
  Tensor tensor = detail::wrap_memory(memory, dtype, shape, options.device);
  if (options.requires_grad) tensor.requires_grad();
  return tensor;
}

Tensor Tensor::empty(const Shape& shape, const TensorOptions& options) {
  const DType dtype = options.dtype.value_or(dtypes::f32);
  if (const auto path = detail::disk_path(options.device))
    return detail::make_disk_tensor(*path, dtype, checked_sizes(shape));
  const u16 at = detail::device_number_named(options.device);
  Tensor tensor = Tensor::from_uop(detail::make_storage(at, dtype, checked_sizes(shape), {}));
  if (options.requires_grad) tensor.requires_grad();
  return tensor;
}

Tensor Tensor::empty_like(const TensorOptions& options) const {
  if (!options.device.empty()) return empty(shape(), detail::options_like(*this, options));
  const DType dtype = options.dtype.value_or(this->dtype());
  Tensor tensor = Tensor::from_uop(
      detail::make_storage(detail::device_number_of(*this), dtype, checked_sizes(shape()), {}));
  if (options.requires_grad) tensor.requires_grad();
  return tensor;
}

void Tensor::realize(std::span<const Tensor> tensors) {
  absl::InlinedVector<detail::Cell*, 4> cells;
  absl::InlinedVector<UOp, 4> wanted;
  for (const Tensor& tensor : tensors) {
    detail::Cell& cell = detail::Access::cell(tensor);
    if (core::TensorGraph::is_stored(*cell.value) || detail::is_always_empty(tensor) ||
        detail::on_disk(cell.value->device()))
      continue;
    if (core::is_placement(cell.value->device())) detail::refuse_symbolic(tensor);
    cells.push_back(&cell);
    wanted.push_back(*cell.value);
  }
  if (wanted.empty()) return;
  engine::StoredNodes stored = engine::realize(wanted);
  CHECK_EQ(stored.size(), wanted.size());
  for (usize i = 0; i < cells.size(); ++i) {
    // Where gradients flow the way here is still needed.
    if (!cells[i]->tracked) cells[i]->set_stored(std::move(stored[i]));
  }
}

const Tensor& Tensor::realize() const {
  realize(std::span(this, 1));
  return *this;
}

void Tensor::copy_to(std::span<std::byte> bytes) const {
  detail::refuse_in_capture("the values of a tensor are read");
  if (static_cast<i64>(bytes.size()) != nbytes()) {
    throw fail(ErrorKind::Invalid, "{} bytes to copy to, the tensor has {}", bytes.size(),
               nbytes());
  }
  if (bytes.empty()) return;
  if (detail::on_disk(*this)) return detail::read_disk(*this, bytes);
  realize();
  engine::read_bytes(core::TensorGraph::realized(*cell().value), bytes);
}

std::vector<std::byte> Tensor::to_bytes() const {
  std::vector<std::byte> bytes(static_cast<usize>(nbytes()));
  copy_to(bytes);
  return bytes;
}

Tensor Tensor::cast_for_reading(DType dtype) const {
  if (this->dtype() == dtype) return *this;
  NoGradScope no_grad;
  if (detail::on_disk(*this)) return detail::off_disk(*this).cast(dtype);
  realize();  // so that the value itself is kept, not only its conversion
  // What the host cannot see is brought over anyway, and its device may lack the dtype. Values
  // without elements have no memory.
  if (const UOp holder = core::TensorGraph::realized(*cell().value)) {
    const core::Buffer& buffer = engine::buffer_of(holder.is(Op::Multi) ? holder.src(0) : holder);
    if (buffer.host() == nullptr && buffer.device().runs()) return to("CPU").cast(dtype);
  }
  return cast(dtype);
}

namespace {

void check_fits(const Tensor& place, const Tensor& x) {
  const Shape to = place.shape(), from = x.shape();
  bool fits = from.size() <= to.size();
  for (usize i = 1; fits && i <= from.size(); ++i) {
    const Size& size = from[from.size() - i];
    fits = size.is(1) || size == to[to.size() - i];
  }
  if (!fits) {
    throw fail(ErrorKind::Invalid, "cannot assign {} of shape {} to {} of shape {}",
               core::long_name_of(x.dtype().scalar), from.str(),
               core::long_name_of(place.dtype().scalar), to.str());
  }
}

// x as `place` can take it: broadcast, converted, and where `place` is.
Tensor assignable(const Tensor& place, const Tensor& given) {
  check_fits(place, given);
  const Shape to = place.shape();
  const u16 at = place.uop()->device();
  const Tensor x = detail::on_disk(given) ? given.to(place.device()) : given;
  if (!core::devices_compatible(at, x.uop()->device())) {
    throw fail(ErrorKind::Invalid, "cannot assign from device {} to device {}", x.device(),
               place.device());
  }
  const Tensor value = x.cast(place.dtype()).expand(to);
  return core::is_placement(at) ? detail::moved_to(value, at) : value;
}

}  // namespace

void detail::refuse_losing_gradient(const Shape& leaf, const Shape& value) {
  throw fail(ErrorKind::Invalid,
             "a leaf of shape {} that requires grad is written, and gradients of the value of "
             "shape {} would be lost; write with gradients switched off, or into a clone()",
             leaf.str(), value.str());
}

Tensor& Tensor::replace(const Tensor& x) {
  const UOpRef value = x.uop();
  const bool tracked = !NoGradScope::active() && x.needs_grad();
  if (tracked && is_leaf()) detail::refuse_losing_gradient(shape(), x.shape());
  cell().unlink();
  cell().set_value(value, tracked);
  return *this;
}

Tensor Tensor::assign(const Tensor& x) && {
  if (detail::is_computed(*this)) detail::refuse_lost(*this, 1, 0);
  return assign(x);
}

Tensor& Tensor::assign(const Tensor& x) & {
  if (detail::on_disk(*this)) {
    detail::refuse_in_capture("a file is written");
    check_fits(*this, x);
    detail::write_disk(*this, x);
    return *this;
  }
  const Tensor value = assignable(*this, x);
  detail::Cell& cell = this->cell();
  const bool tracked = !NoGradScope::active() && value.needs_grad();
  if (tracked && cell.is_leaf) detail::refuse_losing_gradient(shape(), x.shape());
  detail::release_if_alone(cell);
  if (cell.is_view)
    detail::write_view(cell, value);
  else
    cell.set_value(value.uop(), tracked);
  return *this;
}

namespace {

// 0: bool, 1: integers, 2: floats.
int category(DType dtype) { return dtype.is_bool() ? 0 : dtype.is_float() ? 2 : 1; }

}  // namespace

Tensor& detail::assign_result(Tensor& place, const Tensor& result) {
  if (category(result.dtype()) > category(place.dtype())) {
    throw fail(ErrorKind::Invalid, "cannot assign {} of shape {} to {} of shape {}",
               core::long_name_of(result.dtype().scalar), result.shape().str(),
               core::long_name_of(place.dtype().scalar), place.shape().str());
  }
  return place.assign(result);
}

Tensor& Tensor::operator+=(const Operand& x) { return detail::assign_result(*this, add(x)); }
Tensor& Tensor::operator-=(const Operand& x) { return detail::assign_result(*this, sub(x)); }
Tensor& Tensor::operator*=(const Operand& x) { return detail::assign_result(*this, mul(x)); }
Tensor& Tensor::operator/=(const Operand& x) { return detail::assign_result(*this, div(x)); }
Tensor& Tensor::operator%=(const Operand& x) { return detail::assign_result(*this, mod(x)); }
Tensor& Tensor::operator&=(const Operand& x) {
  return detail::assign_result(*this, bitwise_and(x));
}
Tensor& Tensor::operator|=(const Operand& x) { return detail::assign_result(*this, bitwise_or(x)); }
Tensor& Tensor::operator^=(const Operand& x) {
  return detail::assign_result(*this, bitwise_xor(x));
}
Tensor& Tensor::operator<<=(const Operand& x) { return detail::assign_result(*this, lshift(x)); }
Tensor& Tensor::operator>>=(const Operand& x) { return detail::assign_result(*this, rshift(x)); }

Tensor Tensor::contiguous() const {
  const UOpRef node = uop();
  const bool is_row_major = detail::Access::cell(*this).is_row_major;
  if (node->is(Op::Contiguous) || core::TensorGraph::realized(*node))
    return is_row_major ? *this : detail::unshared(*this);
  const Tensor stored = detail::make(Op::Contiguous, dtype(), {this});
  return is_row_major ? detail::as_view(stored, *this, true) : stored;
}

Tensor detail::from_memory(const Tensor& x) {
  std::vector<UOp> moves;  // the last first
  UOp base = *x.uop();
  for (; core::is_movement(base.op()); base = base.src(0)) moves.push_back(base);
  const bool is_stored = base.is(Op::Buffer) || base.is(Op::Contiguous) || base.is(Op::Copy) ||
                         base.is(Op::Const) || core::TensorGraph::realized(base);
  if (is_stored || !x.dtype().is_float()) return x;
  Tensor moved = Tensor::from_uop(UOpRef(base)).contiguous();
  for (usize i = moves.size(); i-- > 0;) {
    const std::span<const UOp> sources = moves[i].srcs();
    const std::vector<UOpRef> sizes(sources.begin() + 1, sources.end());
    const Tensor* const below[] = {&moved};
    moved = detail::make(moves[i].op(), moves[i].dtype(), below, moves[i].args(), sizes);
  }
  return moved;
}

Tensor Tensor::detach() const {
  NoGradScope no_grad;
  return detail::as_view(detail::make(Op::Detach, dtype(), {this}), *this, true);
}

}  // namespace doorbell
