// KernelMetadata: what a code object's note says of a kernel and its descriptor does not. The rest
// of the note is for debuggers and runtimes that lay out arguments by it.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::amd {

// 0: not told.
struct KernelMetadata {
  u64 max_flat_workgroup_size = 0;           // items of a group
  std::array<u64, 3> reqd_workgroup_size{};  // of exactly these groups

  // From the notes of a section, where they name the kernel `name`. Nothing of it is trusted.
  static Result<KernelMetadata> read(std::span<const u8> notes, std::string_view name);
};

}  // namespace doorbell::amd
