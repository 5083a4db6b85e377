// Comparing the bits of two records.
#include "conformance/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace doorbell::conformance {
namespace {

u64 bits_at(const RecordedTensor& tensor, usize element) {
  const auto width = static_cast<usize>(tensor.dtype.bytes());
  u64 bits = 0;
  std::memcpy(&bits, tensor.bytes.data() + element * width, width);
  return bits;
}

std::string describe(DType dtype, const Place& place, u64 a, u64 b) {
  const Real first = decode(dtype, a), second = decode(dtype, b);
  std::string text = fmt::format("element {}: {} ({:#x}) and {} ({:#x})", text_of(place),
                                 text_of(first), a, text_of(second), b);
  if (!std::isnan(first) && !std::isnan(second))
    text += fmt::format(", {}{}", steps_between(dtype, a, b), dtype.is_float() ? " ulps" : "");
  return text;
}

RecordDifference difference_of(const std::string& name, const RecordedTensor& first,
                               const RecordedTensor& second) {
  RecordDifference found;
  found.name = name;
  found.approximate = first.approximate;
  found.dtype = first.dtype;
  found.elements = count_of(first.shape);
  if (first.dtype != second.dtype || first.shape != second.shape) {
    found.differ = -1;
    found.first = fmt::format("{} of shape {} and {} of shape {}", first.dtype.str(),
                              text_of(first.shape), second.dtype.str(), text_of(second.shape));
    return found;
  }
  if (first.bytes.size() != second.bytes.size() || first.bytes.empty()) {
    found.differ = -1;
    found.first = fmt::format("the hashes differ, {} and {}, of too many bytes to be recorded",
                              first.hash, second.hash);
    return found;
  }
  for (usize i = 0; i < static_cast<usize>(found.elements); ++i) {
    const u64 a = bits_at(first, i), b = bits_at(second, i);
    if (a == b) continue;
    const bool is_nan = std::isnan(decode(first.dtype, a)) && std::isnan(decode(first.dtype, b));
    const bool is_first = is_nan ? found.first.empty() : found.differ == 0;
    if (is_first)
      found.first = describe(first.dtype, unflatten(static_cast<i64>(i), first.shape), a, b);
    ++(is_nan ? found.nans : found.differ);
    if (!is_nan) found.most_steps = std::max(found.most_steps, steps_between(first.dtype, a, b));
  }
  return found;
}

void count(const RecordDifference& difference, RecordCount* counts) {
  if (difference.only_nan()) {
    ++counts->nan;
  } else if (difference.approximate.empty()) {
    ++counts->exact;
    counts->most_exact_steps = std::max(counts->most_exact_steps, difference.most_steps);
  } else {
    ++counts->approximate;
    counts->most_approximate_steps =
        std::max(counts->most_approximate_steps, difference.most_steps);
  }
}

i64 sum_of(const std::map<std::string, RecordCount>& dtypes, i64 RecordCount::* member) {
  i64 sum = 0;
  for (const auto& [dtype, counts] : dtypes) sum += counts.*member;
  return sum;
}

}  // namespace

i64 RecordComparison::compared() const { return sum_of(dtypes, &RecordCount::tensors); }
i64 RecordComparison::exact() const { return sum_of(dtypes, &RecordCount::exact); }
i64 RecordComparison::approximate() const { return sum_of(dtypes, &RecordCount::approximate); }
i64 RecordComparison::nan() const { return sum_of(dtypes, &RecordCount::nan); }

// The bits of floats of one sign are ordered as their magnitudes.
u64 steps_between(DType dtype, u64 a, u64 b) {
  if (!dtype.is_float()) {
    const Real distance = std::fabs(decode(dtype, a) - decode(dtype, b));
    return static_cast<u64>(distance);
  }
  const int bits = dtype.bytes() * 8;
  const u64 sign = u64{1} << (bits - 1);
  const u64 x = a & ~sign, y = b & ~sign;
  if ((a & sign) != (b & sign)) return x + y;
  return x > y ? x - y : y - x;
}

Result<RecordComparison> compare_records(const Record& first, const Record& second) {
  if (first.run.at("seed") != second.run.at("seed"))
    return fail(ErrorKind::Invalid, "the records have seeds {} and {}, so that their inputs differ",
                first.run.at("seed").dump(), second.run.at("seed").dump());
  RecordComparison comparison;
  const i64 items = first.run.value("busy_items", i64{0});
  if (const i64 other = second.run.value("busy_items", i64{0}); items != other)
    comparison.note = fmt::format(
        "the devices are busy with {} and {} work items: kernels may be planned differently, and "
        "sums be added up in another order",
        items, other);
  comparison.only_second = static_cast<i64>(second.tensors.size());
  for (const auto& [name, tensor] : first.tensors) {
    const auto other = second.tensors.find(name);
    if (other == second.tensors.end()) {
      ++comparison.only_first;
      continue;
    }
    --comparison.only_second;
    RecordCount& counts = comparison.dtypes[tensor.dtype.str()];
    ++counts.tensors;
    counts.elements += count_of(tensor.shape);
    if (tensor.hash == other->second.hash && tensor.dtype == other->second.dtype &&
        tensor.shape == other->second.shape)
      continue;
    comparison.differences.push_back(difference_of(name, tensor, other->second));
    count(comparison.differences.back(), &counts);
  }
  if (comparison.dtypes.empty())
    return fail(ErrorKind::Invalid, "the records share no tensor: they have {} and {}",
                first.tensors.size(), second.tensors.size());
  return comparison;
}

}  // namespace doorbell::conformance
