// LaunchArguments: what a launch passes to libcuda. A kernel without tensor maps gets the words of
// the command as they are. A kernel with maps gets them behind its words, encoded for this launch's
// addresses.
#pragma once

#include <absl/container/inlined_vector.h>

#include <span>

#include "drivers/cuda/program.h"

namespace doorbell::cuda {

// It points into itself, and into the words: it stays where it is until the call was made.
class LaunchArguments {
 public:
  explicit LaunchArguments(std::span<const u32> words)
      : words_(words), bytes_(words.size_bytes()) {}
  LaunchArguments(const LaunchArguments&) = delete;
  LaunchArguments& operator=(const LaunchArguments&) = delete;

  // For the form of the kernel that these arguments run.
  Result<void> set(const CudaProgram& form);
  // One of these is null.
  void** values() { return values_.empty() ? nullptr : values_.data(); }
  void** extra() { return values_.empty() ? extra_ : nullptr; }

 private:
  const std::span<const u32> words_;
  usize bytes_;
  void* extra_[5] = {kParamBufferPointer, const_cast<u32*>(words_.data()), kParamBufferSize,
                     &bytes_, kParamEnd};
  absl::InlinedVector<void*, 16> values_;  // where each argument is
  absl::InlinedVector<EncodedMap, 2> maps_;
};

}  // namespace doorbell::cuda
