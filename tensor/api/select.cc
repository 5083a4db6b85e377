// Elements chosen by a condition: masked_select, nonzero, isin, and the places of a mask for
// indexing. For indexing itself see index.cc.
#include "tensor/api/select.h"

#include "tensor/api/axes.h"
#include "tensor/api/node.h"

namespace doorbell {

namespace {

void check_mask(const Tensor& mask) {
  if (mask.dtype().is_bool()) return;
  throw fail(ErrorKind::Invalid, "mask has dtype {}, expected bool",
             core::long_name_of(mask.dtype().scalar));
}

// The flat places where the mask holds, in order: read from it, as no graph can know their number.
Tensor flat_places(const Tensor& mask) {
  detail::refuse_in_capture("the number of elements that a mask selects is read");
  const std::vector<std::byte> held = mask.to_bytes();
  const auto places_in = [&]<class T>(T) {
    std::vector<T> places;
    for (usize i = 0; i < held.size(); ++i) {
      if (held[i] != std::byte{0}) places.push_back(static_cast<T>(i));
    }
    return Tensor::from_data(places, {static_cast<i64>(places.size())}, {.device = mask.device()});
  };
  return held.size() > INT32_MAX ? places_in(i64{}) : places_in(i32{});
}

// Flat places as one place per axis; a negative one stays so on all of them.
std::vector<Tensor> places_by_axis(const Tensor& flat, const std::vector<i64>& shape) {
  std::vector<Tensor> places(shape.size());
  Tensor rest = flat;
  for (usize axis = shape.size(); axis-- > 0;) {
    places[axis] = axis == 0 ? rest : rest % shape[axis];
    rest = rest.div(shape[axis], Rounding::Floor);
  }
  return places;
}

}  // namespace

std::vector<Tensor> detail::places_of(const Tensor& mask) {
  check_mask(mask);
  return places_by_axis(flat_places(mask), mask.shape().values());
}

Tensor Tensor::masked_select(const Tensor& mask) const {
  check_mask(mask);
  const Shape shape = detail::broadcast_shapes(this->shape(), mask.shape());
  return expand(shape).reshape({-1})[flat_places(mask.expand(shape))];
}

// Where mask holds for the n-th time, element n: counted by a running sum, placed by a comparison.
Tensor Tensor::masked_select(const Tensor& mask, i64 size, Number fill) const {
  check_mask(mask);
  if (size < 0) throw fail(ErrorKind::Invalid, "selection of {} elements", size);
  const Shape shape = detail::broadcast_shapes(this->shape(), mask.shape());
  const Tensor chosen = mask.expand(shape).reshape({-1});
  const Tensor source = expand(shape).reshape({-1});
  const bool is_long = chosen.numel() > INT32_MAX;
  const Tensor counted = chosen.cast(is_long ? dtypes::i64 : dtypes::i32);
  const Tensor rank = counted.cumsum();  // of a chosen element, from 1
  const Tensor place = arange(1, size + 1).unsqueeze(1);
  const Tensor here = chosen & (rank == place);
  const Tensor found = doorbell::where(here, source, 0).sum(1, {.dtype = dtype()});
  const Tensor total = counted.sum();
  return detail::select(place.squeeze(1) <= total, found, detail::constant(fill, dtype()));
}

Tensor Tensor::nonzero() const {
  if (ndim() == 0) return zeros({cast(dtypes::bool_).item<bool>() ? 1 : 0, 0}).cast(dtypes::i32);
  return stack(detail::places_of(cast(dtypes::bool_)), 1);
}

Tensor Tensor::nonzero(i64 size, i64 fill) const {
  if (size < 0) throw fail(ErrorKind::Invalid, "nonzero of size {}, expected 0 or more", size);
  if (ndim() == 0) return zeros({size, 0}, {.dtype = dtypes::i32});  // a place has no axes
  const Tensor held = cast(dtypes::bool_);
  const std::vector<i64> sizes = shape().values();
  const Tensor all = arange(numel()).reshape(shape());
  const Tensor flat = all.masked_select(held, size, -1);
  const Tensor places = stack(places_by_axis(flat, sizes), 1);
  return doorbell::where((flat < 0).unsqueeze(1), fill, places);
}

Tensor Tensor::isin(const Tensor& elements, bool invert) const {
  Shape apart = shape();
  apart.push_back(1);
  const Tensor found = (reshape(apart) == elements.reshape({-1})).any(-1);
  return invert ? found.logical_not() : found;
}

}  // namespace doorbell
