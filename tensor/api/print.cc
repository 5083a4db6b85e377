// Printing values the way PyTorch does: aligned columns, four digits, large tensors shortened to
// their corners.
#include <algorithm>
#include <cmath>
#include <ostream>

#include <fmt/format.h>

#include "tensor/api/bound_size.h"
#include "tensor/api/tensor.h"

namespace doorbell {

namespace {

constexpr i64 kThreshold = 1000, kEdge = 3;
constexpr usize kLineWidth = 80;

// Reads what is shown only.
struct Shown {
  std::vector<i64> shape;
  std::vector<std::string> cells;  // row-major over the whole shape, empty where not shown
};

// Whether index i of an axis of n is shown.
bool is_edge(i64 i, i64 n, bool shorten) {
  return !shorten || n <= 2 * kEdge || i < kEdge || i >= n - kEdge;
}

bool is_shown(i64 flat, const std::vector<i64>& shape, bool shorten) {
  for (usize axis = shape.size(); axis-- > 0;) {
    if (!is_edge(flat % shape[axis], shape[axis], shorten)) return false;
    flat /= shape[axis];
  }
  return true;
}

struct FloatStyle {
  bool whole = true;        // "1." for all
  bool scientific = false;  // "1.0000e+10"
};

FloatStyle style_of(const std::vector<f64>& values) {
  FloatStyle style;
  f64 most = 0, least = INFINITY;
  for (f64 value : values) {
    if (!std::isfinite(value) || value == 0) continue;
    style.whole = style.whole && value == std::ceil(value);
    most = std::max(most, std::abs(value));
    least = std::min(least, std::abs(value));
  }
  if (most == 0) return style;
  const bool spread = most / least > 1000;
  style.scientific = most > 1e8 || (style.whole ? false : spread || least < 1e-4);
  return style;
}

std::string format_float(f64 value, const FloatStyle& style) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  if (style.scientific) return fmt::format("{:.4e}", value);
  return style.whole ? fmt::format("{:.0f}.", value) : fmt::format("{:.4f}", value);
}

Shown format_cells(const Tensor& tensor) {
  Shown shown{.shape = detail::bound_values(tensor.shape())};
  const bool shorten = tensor.numel() > kThreshold;
  const usize count = static_cast<usize>(tensor.numel());
  shown.cells.resize(count);
  std::vector<usize> places;
  for (usize i = 0; i < count; ++i) {
    if (is_shown(static_cast<i64>(i), shown.shape, shorten)) places.push_back(i);
  }
  if (tensor.dtype().is_float()) {
    const std::vector<f64> all = tensor.to_vector<f64>();
    std::vector<f64> seen;
    for (usize place : places) seen.push_back(all[place]);
    const FloatStyle style = style_of(seen);
    for (usize place : places) shown.cells[place] = format_float(all[place], style);
  } else if (tensor.dtype().is_bool()) {
    const std::vector<std::byte> all = tensor.to_bytes();
    for (usize place : places) shown.cells[place] = all[place] == std::byte{0} ? "False" : "True";
  } else if (tensor.dtype() == dtypes::u64) {
    const std::vector<u64> all = tensor.to_vector<u64>();
    for (usize place : places) shown.cells[place] = std::to_string(all[place]);
  } else {
    const std::vector<i64> all = tensor.to_vector<i64>();
    for (usize place : places) shown.cells[place] = std::to_string(all[place]);
  }
  if (tensor.ndim() == 0) return shown;
  usize width = 0;
  // Infinities and NaN do not set the width, as in PyTorch: they would spread the numbers apart.
  for (usize place : places) {
    const std::string& cell = shown.cells[place];
    const bool is_number = !tensor.dtype().is_float() || cell.find_first_of("in") == cell.npos;
    if (is_number) width = std::max(width, cell.size());
  }
  for (usize place : places) {
    std::string& cell = shown.cells[place];
    if (cell.size() < width) cell.insert(0, width - cell.size(), ' ');
  }
  return shown;
}

// One innermost row, wrapped.
std::string format_row(const Shown& shown, i64 first, i64 length, bool shorten, usize indent) {
  std::string text = "[";
  usize column = indent + 1;
  bool skipped = false;
  for (i64 i = 0; i < length; ++i) {
    const bool edge = is_edge(i, length, shorten);
    if (!edge && skipped) continue;
    skipped = !edge;
    const std::string cell = edge ? shown.cells[static_cast<usize>(first + i)] : "...";
    if (i > 0) {
      text += ",";
      const bool wraps = column + 2 + cell.size() > kLineWidth;
      text += wraps ? "\n" + std::string(indent + 1, ' ') : " ";
      column = wraps ? indent + 1 : column + 2;
    }
    text += cell;
    column += cell.size();
  }
  return text + "]";
}

// Axes outer to inner by recursion: no deeper than kMaxRank.
std::string format_axes(const Shown& shown, usize axis, i64 first, bool shorten, usize indent) {
  if (shown.shape.empty()) return shown.cells[0];
  const i64 length = shown.shape[axis];
  if (axis + 1 == shown.shape.size()) return format_row(shown, first, length, shorten, indent);
  i64 inner = 1;
  for (usize i = axis + 1; i < shown.shape.size(); ++i) inner *= shown.shape[i];
  const std::string gap =
      "," + std::string(shown.shape.size() - axis - 1, '\n') + std::string(indent + 1, ' ');
  std::string text = "[";
  bool skipped = false;
  for (i64 i = 0; i < length; ++i) {
    const bool edge = is_edge(i, length, shorten);
    if (!edge && skipped) continue;
    skipped = !edge;
    if (i > 0) text += gap;
    text += edge ? format_axes(shown, axis + 1, first + i * inner, shorten, indent + 1) : "...";
  }
  return text + "]";
}

}  // namespace

std::string Tensor::str() const {
  constexpr std::string_view kOpen = "tensor(";
  std::string text(kOpen);
  if (numel() == 0) {
    text += "[]";
    if (detail::bound_values(shape()) != std::vector<i64>{0}) text += ", size=" + shape().str();
  } else {
    text += format_axes(format_cells(*this), 0, 0, numel() > kThreshold, kOpen.size());
  }
  const DType type = dtype();
  if (type != dtypes::f32 && type != dtypes::i32 && !type.is_bool()) {
    text += ", dtype=" + std::string(core::long_name_of(type.scalar));
  }
  return text + ")";
}

std::ostream& operator<<(std::ostream& os, const Tensor& tensor) { return os << tensor.str(); }

}  // namespace doorbell
