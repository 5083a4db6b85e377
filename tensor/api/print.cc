// Printing values the way PyTorch does: aligned columns, four digits, large tensors shortened to
// their corners.
#include <algorithm>
#include <cmath>
#include <mutex>
#include <ostream>

#include <fmt/format.h>

#include "tensor/api/bound_size.h"
#include "tensor/api/observer.h"
#include "tensor/api/print.h"
#include "tensor/api/tensor.h"

namespace doorbell {

namespace {

constinit std::mutex options_mutex;
constinit PrintOptions held_options;  // guarded by it

// What is shown of a tensor: of each axis all, or its two ends.
struct Shown {
  PrintOptions options = print_options();
  std::vector<i64> shape;          // of what is shown
  std::vector<bool> cut;           // by axis: whether its middle is left out
  std::vector<std::string> cells;  // row-major
};

// The ends of the axes of x from `axis` on that are cut. With `apart` the corners are computed one
// after the other: all at once would have what they share stored.
Tensor ends_of(const Tensor& x, usize axis, const Shown& shown, bool apart) {
  while (axis < shown.cut.size() && !shown.cut[axis]) ++axis;
  if (axis == shown.cut.size()) return apart ? x.contiguous().realize() : x;
  const i64 length = detail::bound_value(x.size(static_cast<i64>(axis)));
  std::vector<std::pair<Size, Size>> first, last;
  for (const Size& size : x.shape()) first.emplace_back(0, size);
  last = first;
  const i64 edge = shown.options.edge_items;
  first[axis] = {0, edge};
  last[axis] = {length - edge, length};
  std::vector<std::pair<i64, i64>> after(first.size(), {0, 0}), before = after;
  after[axis].second = before[axis].first = edge;
  Shape along(first.size() - axis, 1);
  along[0] = 2 * edge;
  // Chosen rather than added, which would lose the sign of -0.
  return doorbell::where(Tensor::arange(2 * edge).reshape(along) < edge,
                         ends_of(x.shrink(first), axis + 1, shown, apart).pad(after),
                         ends_of(x.shrink(last), axis + 1, shown, apart).pad(before));
}

// Whether reading a part of x costs no more than reading that part of what is stored.
bool is_view(const Tensor& x) {
  core::UOp node = *x.uop();
  while (!core::TensorGraph::realized(node)) {
    if (node.is(core::Op::Const)) return true;
    if (!core::is_movement(node.op()) && !node.is(core::Op::Detach)) return false;
    node = node.src(0);
  }
  return true;
}

// The elements that are shown, as a tensor of their own. A value is computed and kept, unless
// storing it would take much memory for the sake of some corners.
Tensor shown_part(const Tensor& tensor, Shown* shown) {
  constexpr i64 kMaxKept = i64{1} << 28;  // bytes
  detail::refuse_in_capture("the values of a tensor are read");
  NoGradScope no_grad;
  shown->shape = detail::bound_values(tensor.shape());
  shown->cut.resize(shown->shape.size());
  const bool shorten = tensor.numel() > shown->options.threshold;
  const bool keep = tensor.numel() <= kMaxKept / tensor.dtype().bytes();
  const bool reads = is_view(tensor);
  if (keep && !reads) tensor.realize();
  for (usize axis = 0; axis < shown->shape.size(); ++axis) {
    const i64 ends = 2 * shown->options.edge_items;
    shown->cut[axis] = shorten && shown->shape[axis] > ends;
    if (shown->cut[axis]) shown->shape[axis] = ends;
  }
  return ends_of(tensor, 0, *shown, !keep && !reads);
}

struct FloatStyle {
  bool whole = true;        // "1." for all
  bool scientific = false;  // "1.0000e+10"
  int precision = 4;
};

FloatStyle style_of(const std::vector<f64>& values, const PrintOptions& options) {
  FloatStyle style{.precision = options.precision};
  f64 most = 0, least = INFINITY;
  for (f64 value : values) {
    if (!std::isfinite(value) || value == 0) continue;
    style.whole = style.whole && value == std::ceil(value);
    most = std::max(most, std::abs(value));
    least = std::min(least, std::abs(value));
  }
  if (options.scientific) style.scientific = *options.scientific;
  if (most == 0 || options.scientific) return style;
  const bool spread = most / least > 1000;
  style.scientific = most > 1e8 || (style.whole ? false : spread || least < 1e-4);
  return style;
}

std::string format_float(f64 value, const FloatStyle& style) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  if (style.scientific) return fmt::format("{:.{}e}", value, style.precision);
  return style.whole ? fmt::format("{:.0f}.", value)
                     : fmt::format("{:.{}f}", value, style.precision);
}

std::vector<std::string> format_values(const Tensor& part, const PrintOptions& options) {
  std::vector<std::string> cells;
  auto write = [&](const auto& values, auto text) {
    for (const auto& value : values) cells.push_back(text(value));
  };
  auto number = [](auto value) { return std::to_string(value); };
  if (part.dtype().is_float()) {
    const std::vector<f64> values = part.to_vector<f64>();
    const FloatStyle style = style_of(values, options);
    write(values, [&](f64 value) { return format_float(value, style); });
  } else if (part.dtype().is_bool()) {
    write(part.to_bytes(), [](std::byte held) { return held == std::byte{0} ? "False" : "True"; });
  } else if (part.dtype() == dtypes::u64) {
    write(part.to_vector<u64>(), number);
  } else {
    write(part.to_vector<i64>(), number);
  }
  return cells;
}

// Aligned to the right.
void align(std::vector<std::string>& cells, bool is_float) {
  usize width = 0;
  // Infinities and NaN do not set the width, as in PyTorch: they would spread the numbers apart.
  for (const std::string& cell : cells) {
    const bool is_number = !is_float || cell.find_first_of("in") == cell.npos;
    if (is_number) width = std::max(width, cell.size());
  }
  for (std::string& cell : cells) {
    if (cell.size() < width) cell.insert(0, width - cell.size(), ' ');
  }
}

// One innermost row, wrapped.
std::string format_row(const Shown& shown, i64 first, usize indent) {
  const i64 length = shown.shape.back();
  std::string text = "[";
  usize column = indent + 1;
  auto add = [&](const std::string& cell) {
    if (text.size() > 1) {
      text += ",";
      const bool wraps = column + 2 + cell.size() > shown.options.line_width;
      text += wraps ? "\n" + std::string(indent + 1, ' ') : " ";
      column = wraps ? indent + 1 : column + 2;
    }
    text += cell;
    column += cell.size();
  };
  for (i64 i = 0; i < length; ++i) {
    if (shown.cut.back() && i == shown.options.edge_items) add("...");
    add(shown.cells[static_cast<usize>(first + i)]);
  }
  return text + "]";
}

// Axes outer to inner by recursion: no deeper than kMaxRank.
std::string format_axes(const Shown& shown, usize axis, i64 first, usize indent) {
  if (shown.shape.empty()) return shown.cells[0];
  if (axis + 1 == shown.shape.size()) return format_row(shown, first, indent);
  i64 inner = 1;
  for (usize i = axis + 1; i < shown.shape.size(); ++i) inner *= shown.shape[i];
  const std::string gap =
      "," + std::string(shown.shape.size() - axis - 1, '\n') + std::string(indent + 1, ' ');
  std::string text = "[";
  for (i64 i = 0; i < shown.shape[axis]; ++i) {
    if (i > 0) text += gap;
    if (shown.cut[axis] && i == shown.options.edge_items) text += "..." + gap;
    text += format_axes(shown, axis + 1, first + i * inner, indent + 1);
  }
  return text + "]";
}

}  // namespace

PrintOptions print_options() {
  std::lock_guard lock(options_mutex);
  return held_options;
}

void set_print_options(const PrintOptions& options) {
  const bool fits = options.precision >= 0 && options.precision <= 100 && options.threshold >= 0 &&
                    options.edge_items >= 1;
  if (!fits) {
    throw fail(
        ErrorKind::Invalid,
        "print options of precision {}, threshold {}, edge items {}; expected 0 to 100, 0 or "
        "more, 1 or more",
        options.precision, options.threshold, options.edge_items);
  }
  std::lock_guard lock(options_mutex);
  held_options = options;
}

std::string Tensor::str() const {
  constexpr std::string_view kOpen = "tensor(";
  std::string text(kOpen);
  if (numel() == 0) {
    text += "[]";
    if (detail::bound_values(shape()) != std::vector<i64>{0}) text += ", size=" + shape().str();
  } else {
    Shown shown;
    shown.cells = format_values(shown_part(*this, &shown), shown.options);
    if (ndim() > 0) align(shown.cells, dtype().is_float());
    text += format_axes(shown, 0, 0, kOpen.size());
  }
  const DType type = dtype();
  if (type != dtypes::f32 && type != dtypes::i32 && !type.is_bool()) {
    text += ", dtype=" + std::string(core::long_name_of(type.scalar));
  }
  return text + ")";
}

std::ostream& operator<<(std::ostream& os, const Tensor& tensor) { return os << tensor.str(); }

}  // namespace doorbell
