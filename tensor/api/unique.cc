// What is in a tensor once: its elements, by sorting them, and its parts along an axis, compared
// where they are read.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "tensor/api/axes.h"
#include "tensor/api/node.h"

namespace doorbell {

using detail::constant;

namespace {

// Rows of `width` elements in order, the first of equal ones first.
struct Rows {
  std::vector<i64> order;
  std::vector<i64> starts;  // where in the order a row begins that is not as the one before
};

template <class T>
bool is_less(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(b)) return !std::isnan(a);  // NaN behind all
  }
  return a < b;
}

template <class T>
Rows sorted_rows(const std::vector<T>& elements, i64 count, i64 width) {
  const auto row = [&](i64 number) {
    return std::span(elements).subspan(static_cast<usize>(number * width),
                                       static_cast<usize>(width));
  };
  Rows rows{std::vector<i64>(static_cast<usize>(count)), {}};
  std::iota(rows.order.begin(), rows.order.end(), 0);
  std::ranges::stable_sort(rows.order, [&](i64 a, i64 b) {
    return std::ranges::lexicographical_compare(row(a), row(b), is_less<T>);
  });
  for (i64 i = 0; i < count; ++i) {
    const usize at = static_cast<usize>(i);
    if (i == 0 || !std::ranges::equal(row(rows.order[at - 1]), row(rows.order[at])))
      rows.starts.push_back(i);
  }
  return rows;
}

// Of x (rows, ...), read.
Rows read_rows(const Tensor& x, i64 count, i64 width) {
  if (x.dtype().is_float()) return sorted_rows(x.to_vector<f64>(), count, width);
  if (x.dtype().is_unsigned()) return sorted_rows(x.to_vector<u64>(), count, width);
  return sorted_rows(x.to_vector<i64>(), count, width);
}

}  // namespace

Unique Tensor::unique() const {
  const Picked sorted = detach().flatten().sort();
  const Tensor& values = sorted.values;
  const i64 length = values.size(0).value();
  if (length == 0) {
    const Tensor none = Tensor::zeros({0}, {.dtype = dtypes::i32, .device = device()});
    return {values, none.reshape(shape()), none};
  }
  const Tensor start = constant(true, dtypes::bool_).expand({1});
  const Tensor changes = values[{Slice(1, None)}] != values[{Slice(None, -1)}];
  const Tensor is_first = length == 1 ? start : cat({start, changes});
  const Tensor rank = is_first.cast(dtypes::i32).cumsum() - 1;
  const Tensor places = is_first.nonzero().squeeze(1);
  const Tensor ends = cat({places[{Slice(1, None)}], constant(length, dtypes::i32).expand({1})});
  const Tensor inverse = rank.zeros_like().scatter(0, sorted.indices, rank);
  return {values[places], inverse.reshape(shape()), ends - places};
}

Unique Tensor::unique(i64 axis) const {
  detail::refuse_in_capture("the number of parts that differ is read");
  const i64 at = detail::resolve_axis(axis, ndim());
  const Tensor parts = detach().movedim({at}, {0});
  const i64 count = size(at).value(), width = count == 0 ? 0 : numel() / count;
  if (count != 0 && width == 0) {
    throw fail(ErrorKind::Invalid, "unique parts along axis {} of shape {}, which have no elements",
               axis, shape().str());
  }
  if (count > INT32_MAX)
    throw fail(ErrorKind::Unsupported, "unique parts of {}, expected at most {}", count, INT32_MAX);
  const Rows rows = read_rows(parts, count, width);
  std::vector<i32> first, inverse(static_cast<usize>(count)), counts;
  for (usize i = 0; i < rows.starts.size(); ++i) {
    const i64 start = rows.starts[i], end = i + 1 < rows.starts.size() ? rows.starts[i + 1] : count;
    first.push_back(static_cast<i32>(rows.order[static_cast<usize>(start)]));
    counts.push_back(static_cast<i32>(end - start));
    for (i64 place = start; place < end; ++place)
      inverse[static_cast<usize>(rows.order[static_cast<usize>(place)])] = static_cast<i32>(i);
  }
  const auto tensor = [&](const std::vector<i32>& numbers) {
    return from_data(numbers, {static_cast<i64>(numbers.size())}, {.device = device()});
  };
  return {parts[tensor(first)].movedim({0}, {at}), tensor(inverse), tensor(counts)};
}

}  // namespace doorbell
