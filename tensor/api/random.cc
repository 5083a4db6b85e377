// Random numbers: Threefry-2x32-20 in counter mode. Element i of the n-th draw on a device is
// threefry(counter + i, key), where the key is made of the seed and the device's number among those
// of its kind, and the counter moves on by the number of elements after each draw. So a stream
// depends on the seed and the sizes drawn before, not on kernels, threads or time, nor on which
// kinds of devices a machine has. {key, counter} is a buffer: the graph of a draw is
// the same each time, and its kernel is compiled once.
#include "tensor/api/random.h"

#include <cmath>
#include <mutex>
#include <numbers>
#include <vector>

#include "base/util/hash.h"
#include "core/device/registry.h"
#include "core/uop/placement.h"
#include "tensor/api/cell.h"
#include "tensor/api/dtype_info.h"
#include "tensor/api/node.h"
#include "tensor/api/sharding.h"
#include "tensor/api/storage.h"
#include "tensor/engine/realize.h"

namespace doorbell {

using core::Op;

namespace {

struct Streams {
  std::mutex mutex;
  u64 seed = 0;
  std::vector<u64> counters;  // by device index
};

Streams& streams() {
  static Streams all;
  return all;
}

// {key, counter} of a draw of `count` elements.
std::array<u64, 2> advance(const core::Device& device, i64 count) {
  Streams& all = streams();
  std::lock_guard lock(all.mutex);
  if (all.counters.size() <= device.index()) all.counters.resize(device.index() + 1u, 0);
  const u64 counter = all.counters[device.index()];
  all.counters[device.index()] += static_cast<u64>(count);
  const int ordinal = device.spec().ordinal;
  return {ordinal == 0 ? all.seed : hash_of(all.seed, ordinal), counter};
}

// The device whose stream several draw from: the first, or where that is another process's, the
// first of this one. Each process draws the same from its own.
u16 stream_of(u16 at) {
  const auto devices = core::placement_of(at).devices;
  for (u16 device : devices)
    if (!core::Registry::instance().is_remote(device)) return device;
  return engine::device().index();
}

// 64 random bits per element. Several devices draw from the first one's stream, each the elements
// that it has: what is drawn is what one device would draw.
Tensor random_words(const Shape& shape, u16 at) {
  const i64 count = shape.numel().value();
  for (i64 size : shape.values()) {
    if (size < 0) throw fail(ErrorKind::Invalid, "shape {} has a negative size", shape.str());
  }
  const bool several = core::is_placement(at);
  core::Device& device = engine::device_at(several ? stream_of(at) : static_cast<u16>(at - 1));
  core::UOpRef draw = detail::next_draw(device, count);
  if (detail::observer != nullptr) detail::observer->draw(device, count, draw);
  Tensor state = Tensor::from_uop(std::move(draw));
  if (several) state = detail::moved_to(state, core::with_layout(at, core::kReplicated));
  const Tensor key = state[0], first = state[1];
  Tensor numbers = Tensor::arange(count, {.dtype = dtypes::u64}).reshape(shape);
  if (several) numbers = detail::moved_to(numbers, at);
  const Tensor counters = numbers + first;
  return detail::make(Op::Threefry, dtypes::u64, {&counters, &key});
}

// The upper bits of a word of `width` bits as a float in [0, 1): as many as the dtype holds
// exactly.
Tensor to_unit(const Tensor& bits, int width, DType dtype) {
  const int digits = 1 - std::ilogb(finfo(dtype).eps);
  const DType compute = dtype == dtypes::f64 ? dtypes::f64 : dtypes::f32;
  const Tensor whole = shift_right(bits, width - digits);
  return (whole.cast(compute) * std::ldexp(1.0, -digits)).cast(dtype);
}

DType float_option(const TensorOptions& options) {
  const DType dtype = options.dtype.value_or(dtypes::f32);
  if (!dtype.is_float()) {
    throw fail(ErrorKind::Invalid, "random floats of {}, expected a float dtype",
               core::long_name_of(dtype.scalar));
  }
  return dtype;
}

Tensor unit(const Shape& shape, u16 at, DType dtype) {
  const Tensor bits = random_words(shape, at);
  if (dtype == dtypes::f64) return to_unit(bits, 64, dtype);
  return to_unit(bits.cast(dtypes::u32), 32, dtype);
}

// Stored, so that several users see one computation.
Tensor stored(const Tensor& x, const TensorOptions& options) {
  Tensor result = x.contiguous();
  if (options.requires_grad) result.requires_grad();
  return result;
}

f64 fan_in(const Shape& shape) {
  f64 product = 1;
  for (usize i = 1; i < shape.size(); ++i) product *= static_cast<f64>(shape[i].value());
  return product;
}

}  // namespace

core::UOpRef detail::next_draw(core::Device& device, i64 count) {
  const std::array<u64, 2> draw = advance(device, count);
  const i64 shape[] = {2};
  return engine::make_buffer_node(device, dtypes::u64, shape,
                                  std::as_bytes(std::span<const u64>(draw)));
}

void Tensor::manual_seed(u64 seed) {
  detail::refuse_in_capture("the random stream is seeded");
  Streams& all = streams();
  std::lock_guard lock(all.mutex);
  all.seed = seed;
  all.counters.clear();
}

Tensor Tensor::rand(const Shape& shape, const TensorOptions& options) {
  return stored(unit(shape, detail::device_number_named(options.device), float_option(options)),
                options);
}

namespace {

// Box and Muller: of two numbers in [0, 1).
Tensor gaussian(const Tensor& low, const Tensor& high) {
  const Tensor radius = ((1 - low).log() * -2).sqrt();
  return radius * (high * (2 * std::numbers::pi)).cos();
}

// From both halves of one word; of f64 from two words, which have 53 bits for each number.
Tensor gaussian(const Shape& shape, u16 at, DType dtype) {
  if (dtype == dtypes::f64) {
    Shape words = shape;
    words.push_back(2);
    const Tensor bits = random_words(words, at);
    const auto number = [&](i64 word) { return to_unit(bits[{Ellipsis, word}], 64, dtype); };
    const Tensor low = number(0), high = number(1);
    return gaussian(low, high);
  }
  const Tensor bits = random_words(shape, at);
  const Tensor low = to_unit(bits.cast(dtypes::u32), 32, dtypes::f32);
  const Tensor high = to_unit((bits >> 32).cast(dtypes::u32), 32, dtypes::f32);
  return gaussian(low, high).cast(dtype);
}

bool holds(DType dtype, i64 number) {
  const int unused = 64 - dtype.bits();
  if (dtype.is_unsigned()) return number >= 0 && (unused == 0 || number >> dtype.bits() == 0);
  return number >= INT64_MIN >> unused && number <= INT64_MAX >> unused;
}

Tensor whole_numbers(i64 low, i64 high, const Shape& shape, u16 at, DType dtype) {
  if (low >= high) throw fail(ErrorKind::Invalid, "randint from {} to {}", low, high);
  if (!dtype.is_int()) {
    throw fail(ErrorKind::Invalid, "randint of {}, expected integers",
               core::long_name_of(dtype.scalar));
  }
  if (!holds(dtype, low) || !holds(dtype, high - 1)) {
    throw fail(ErrorKind::Invalid, "randint from {} to {} does not fit {}", low, high,
               core::long_name_of(dtype.scalar));
  }
  // The remainder of 64 bits is uneven by less than the range in 2^64.
  const u64 range = static_cast<u64>(high) - static_cast<u64>(low);
  const Tensor bits = random_words(shape, at);
  const Tensor offset = detail::binary(Op::FloorMod, bits, detail::constant(range, dtypes::u64));
  return (offset.cast(dtypes::i64) + low).cast(dtype);
}

// Where a tensor is that is made like another.
u16 place_like(const Tensor& x, const TensorOptions& options) {
  return options.device.empty() ? detail::device_number_of(x)
                                : detail::device_number_named(options.device);
}

}  // namespace

Tensor Tensor::randn(const Shape& shape, const TensorOptions& options) {
  const u16 at = detail::device_number_named(options.device);
  return stored(gaussian(shape, at, float_option(options)), options);
}

Tensor Tensor::randint(i64 low, i64 high, const Shape& shape, const TensorOptions& options) {
  const bool narrow = holds(dtypes::i32, low) && holds(dtypes::i32, high - 1);
  const DType dtype = options.dtype.value_or(narrow ? dtypes::i32 : dtypes::i64);
  return stored(whole_numbers(low, high, shape, detail::device_number_named(options.device), dtype),
                options);
}

Tensor Tensor::uniform(const Shape& shape, f64 low, f64 high, const TensorOptions& options) {
  if (!(low <= high))
    throw fail(ErrorKind::Invalid, "uniform from {} to {}, expected low <= high", low, high);
  const u16 at = detail::device_number_named(options.device);
  return stored(unit(shape, at, float_option(options)) * (high - low) + low, options);
}

Tensor Tensor::normal(const Shape& shape, f64 mean, f64 std, const TensorOptions& options) {
  if (!(std >= 0))
    throw fail(ErrorKind::Invalid, "normal with a deviation of {}, expected 0 or more", std);
  TensorOptions rest = options;
  rest.requires_grad = false;
  return stored(randn(shape, rest) * std + mean, options);
}

Tensor Tensor::glorot_uniform(const Shape& shape, const TensorOptions& options) {
  const f64 out = shape.empty() ? 1 : static_cast<f64>(shape[0].value());
  const f64 bound = std::sqrt(6 / (out + fan_in(shape)));
  return uniform(shape, -bound, bound, options);
}

Tensor Tensor::scaled_uniform(const Shape& shape, const TensorOptions& options) {
  const f64 bound = 1 / std::sqrt(static_cast<f64>(std::max<i64>(shape.numel().value(), 1)));
  return uniform(shape, -bound, bound, options);
}

Tensor Tensor::kaiming_uniform(const Shape& shape, f64 a, const TensorOptions& options) {
  const f64 bound = std::sqrt(6 / (1 + a * a) / fan_in(shape));
  return uniform(shape, -bound, bound, options);
}

Tensor Tensor::kaiming_normal(const Shape& shape, f64 a, const TensorOptions& options) {
  return normal(shape, 0, std::sqrt(2 / (1 + a * a) / fan_in(shape)), options);
}

Tensor Tensor::random_bits(const Shape& shape, const TensorOptions& options) {
  const DType dtype = options.dtype.value_or(dtypes::u32);
  if (!dtype.is_unsigned()) {
    throw fail(ErrorKind::Invalid, "random bits of {}, expected unsigned integers",
               core::long_name_of(dtype.scalar));
  }
  return stored(random_words(shape, detail::device_number_named(options.device)).cast(dtype),
                options);
}

Tensor Tensor::rand_like(const TensorOptions& options) const {
  const TensorOptions all = detail::options_like(*this, options);
  return stored(unit(shape(), place_like(*this, options), float_option(all)), all);
}
Tensor Tensor::randn_like(const TensorOptions& options) const {
  const TensorOptions all = detail::options_like(*this, options);
  return stored(gaussian(shape(), place_like(*this, options), float_option(all)), all);
}
Tensor Tensor::randint_like(i64 low, i64 high, const TensorOptions& options) const {
  const TensorOptions all = detail::options_like(*this, options);
  return stored(whole_numbers(low, high, shape(), place_like(*this, options), *all.dtype), all);
}

namespace {

u16 with_copies(u16 at) {
  return core::is_placement(at) ? core::with_layout(at, core::kReplicated) : at;
}

// The first of `weights` (rows, n) whose running sum exceeds the draw (rows, count).
Tensor pick_by_running_sum(const Tensor& weights, const Tensor& draws) {
  const Tensor sums = weights.cumsum(1);
  const Tensor level = draws * sums[{Slice(), Slice(-1, None)}];
  return (sums.unsqueeze(1) <= level.unsqueeze(2)).sum(2);
}

}  // namespace

// Without replacement: the largest of log(u) / weight are the draws of successive lotteries
// (Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006).
Tensor Tensor::multinomial(i64 count, bool replacement) const {
  const bool is_row = ndim() == 1;
  if ((!is_row && ndim() != 2) || !dtype().is_float() || count < 1 || size(-1).is(0) ||
      (!replacement && count > size(-1).value())) {
    throw fail(ErrorKind::Invalid,
               "multinomial of {} draws {} replacement from {} weights of shape {}", count,
               replacement ? "with" : "without", core::long_name_of(dtype().scalar), shape().str());
  }
  const Tensor weights = (is_row ? unsqueeze(0) : *this).detach().cast(dtypes::f32);
  const Shape drawn = replacement ? Shape{weights.size(0), count} : weights.shape();
  const Tensor draws =
      unit(drawn, with_copies(detail::device_number_of(*this)), dtypes::f32).contiguous();
  const Tensor places = replacement
                            ? pick_by_running_sum(weights, draws).minimum(size(-1).value() - 1)
                            : doorbell::where(0 < weights, (1 - draws).log() / weights, -INFINITY)
                                  .topk(count, 1)
                                  .indices;
  return is_row ? places.squeeze(0) : places;
}

Tensor Tensor::dropout(f64 probability) const {
  if (!(probability >= 0 && probability <= 1)) {
    throw fail(ErrorKind::Invalid, "dropout of {}, expected 0 to 1", probability);
  }
  if (!TrainingScope::active() || probability == 0) return *this;
  if (probability == 1) return zeros_like();
  const Tensor kept =
      (unit(shape(), detail::device_number_of(*this), dtypes::f32) >= probability).contiguous();
  return doorbell::where(kept, *this / (1 - probability), 0);
}

}  // namespace doorbell
