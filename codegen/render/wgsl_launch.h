// WgslLaunch: a kernel in WGSL as one launch binds it, for programs without our driver: exported
// ones. drivers/webgpu/hw/abi/bindings.h says what the words and bindings are.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/util/types.h"

namespace doorbell::codegen {

struct WgslLaunch {
  std::string source;         // binding 0 the uniform, 1 + g memory g
  std::vector<bool> written;  // by memory
  u32 words = 0;              // of the uniform; those not named below are 0
  struct Param {
    u32 offset_word = 0, offset_unit = 4;  // the offset in its binding, in units of so many bytes
  };
  std::vector<Param> params;
  std::vector<u32> variable_words;  // each of two, low and high
};

// Of the renderer's text. `memory`: of each param, the memory that it lies in, numbered in the
// order of first params; params of one memory share a binding.
WgslLaunch wgsl_launch(std::string_view source, std::span<const u32> memory);

}  // namespace doorbell::codegen
