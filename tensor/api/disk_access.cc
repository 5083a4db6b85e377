// Strided access to files. A system call costs about as much as copying some kilobytes, so what
// lies close together is read with what is between; only what was asked for is written.
#include "tensor/api/disk_access.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/util/try.h"
#include "tensor/engine/must.h"

namespace doorbell::detail {
namespace {

constexpr i64 kPiece = i64{16} << 20;  // bytes handed on at once
constexpr i64 kGap = i64{64} << 10;    // bytes that may be read for nothing

struct Axis {
  i64 size, from, to;  // elements, and their distances in the file and in the piece
};
using Axes = absl::InlinedVector<Axis, 8>;

// In row-major order; neighbours that make one run are one, axes of size 1 are none.
Axes axes_of(const FilePart& part) {
  Axes axes;
  for (usize i = 0; i < part.sizes.size(); ++i) {
    const i64 size = part.sizes[i], stride = part.strides[i];
    if (size == 1) continue;
    if (!axes.empty() && axes.back().from == size * stride)
      axes.back() = {axes.back().size * size, stride, 0};
    else
      axes.push_back({size, stride, 0});
  }
  i64 count = 1;
  for (usize i = axes.size(); i-- > 0; count *= axes[i].size) axes[i].to = count;
  return axes;
}

i64 count_of(std::span<const Axis> axes) {
  i64 count = 1;
  for (const Axis& axis : axes) count *= axis.size;
  return count;
}

void spread(std::span<const Axis> axes, i64 width, const u8* from, u8* to) {
  if (axes.empty()) {
    std::memcpy(to, from, static_cast<usize>(width));
    return;
  }
  const Axis& axis = axes.front();
  if (axes.size() == 1 && axis.from == 1 && axis.to == 1) {
    std::memcpy(to, from, static_cast<usize>(axis.size * width));
    return;
  }
  for (i64 i = 0; i < axis.size; ++i)
    spread(axes.subspan(1), width, from + i * axis.from * width, to + i * axis.to * width);
}

class Reader {
 public:
  Reader(const FilePart& part, const Sink& sink) : part_(part), sink_(sink) {}

  // Recursion is as deep as the tensor has axes, here and below.
  Result<void> run(Axes axes, i64 base) {
    const std::span<const Axis> inner = std::span<const Axis>(axes).subspan(axes.empty() ? 0 : 1);
    const i64 row = count_of(inner) * part_.width;
    if (axes.empty()) return piece(axes, base);
    const i64 size = axes[0].size, stride = axes[0].from, step = std::max<i64>(1, kPiece / row);
    for (i64 i = 0; i < size; i += step) {
      if (row > kPiece) {
        TRY(run(Axes(inner.begin(), inner.end()), base + i * stride));
        continue;
      }
      axes[0].size = std::min(step, size - i);
      TRY(piece(axes, base + i * stride));
    }
    return {};
  }

 private:
  Result<void> piece(const Axes& axes, i64 base) {
    engine::end_if_stopped();
    const i64 bytes = count_of(axes) * part_.width;
    piece_.resize(static_cast<usize>(bytes));
    TRY(gather(axes, base, piece_.data()));
    TRY(sink_(piece_.data(), bytes, done_));
    done_ += bytes;
    return {};
  }

  Result<void> gather(const Axes& axes, i64 base, u8* to) {
    i64 low = base, high = base;
    for (const Axis& axis : axes) (axis.from < 0 ? low : high) += (axis.size - 1) * axis.from;
    const i64 width = part_.width, span = (high - low + 1) * width;
    const bool is_run = axes.empty() || (axes.size() == 1 && axes[0].from == 1 && axes[0].to == 1);
    if (is_run) return part_.buffer->copy_out(to, span, low * width);
    if (span <= kGap + 4 * count_of(axes) * width) {
      span_.resize(static_cast<usize>(span));
      TRY(part_.buffer->copy_out(span_.data(), span, low * width));
      spread(axes, width, span_.data() + (base - low) * width, to);
      return {};
    }
    // What lies far apart, one after the other.
    const auto far = std::max_element(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) {
      return std::abs(a.from) < std::abs(b.from);
    });
    const Axis outer = *far;
    Axes rest = axes;
    rest.erase(rest.begin() + (far - axes.begin()));
    for (i64 i = 0; i < outer.size; ++i)
      TRY(gather(rest, base + i * outer.from, to + i * outer.to * width));
    return {};
  }

  const FilePart& part_;
  const Sink& sink_;
  i64 done_ = 0;
  std::vector<u8> piece_, span_;
};

Result<void> write_axes(const FilePart& part, std::span<const Axis> axes, i64 base,
                        const u8* bytes) {
  const bool is_run = axes.empty() || (axes.size() == 1 && axes[0].from == 1);
  if (is_run) return part.buffer->copy_in(bytes, count_of(axes) * part.width, base * part.width);
  const Axis& outer = axes.front();
  for (i64 i = 0; i < outer.size; ++i) {
    engine::end_if_stopped();
    TRY(write_axes(part, axes.subspan(1), base + i * outer.from,
                   bytes + i * outer.to * part.width));
  }
  return {};
}

bool has_elements(const FilePart& part) {
  return std::find(part.sizes.begin(), part.sizes.end(), 0) == part.sizes.end();
}

}  // namespace

bool FilePart::is_run() const {
  const Axes axes = axes_of(*this);
  return !has_elements(*this) || axes.empty() || (axes.size() == 1 && axes[0].from == 1);
}

void read_part(const FilePart& part, const Sink& sink) {
  if (has_elements(part)) engine::must(Reader(part, sink).run(axes_of(part), part.offset));
}

void write_part(const FilePart& part, std::span<const std::byte> bytes) {
  if (!has_elements(part)) return;
  const Axes axes = axes_of(part);
  engine::must(write_axes(part, axes, part.offset, reinterpret_cast<const u8*>(bytes.data())));
}

}  // namespace doorbell::detail
