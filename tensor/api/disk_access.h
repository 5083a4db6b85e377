// Inside the tensor API: elements of a file that lie at regular distances, read and written with as
// few and as small accesses as they allow. For which elements a tensor shows see disk.h.
#pragma once

#include <functional>
#include <span>

#include "core/device/buffer.h"
#include "tensor/api/strides.h"

namespace doorbell::detail {

// Elements of `buffer`: (i, j, ...) is number offset + i * strides[0] + j * strides[1] + ...
struct FilePart {
  core::Buffer* buffer = nullptr;  // of the tensor's node
  i64 width = 0;                   // bytes of an element
  Numbers sizes, strides;
  i64 offset = 0;

  // Whether they lie in row-major order without gaps.
  bool is_run() const;
};

// Takes `bytes` at `offset` of the elements in row-major order.
using Sink = std::function<Result<void>(const u8* bytes, i64 size, i64 offset)>;

// All elements, in order, in pieces of some megabytes. Throws Error where the file is too short by
// now, and Stopped between the pieces.
void read_part(const FilePart& part, const Sink& sink);
// The elements become `bytes`, which has them in row-major order. Throws likewise; what was written
// before that stays. No element may be there twice.
void write_part(const FilePart& part, std::span<const std::byte> bytes);

}  // namespace doorbell::detail
