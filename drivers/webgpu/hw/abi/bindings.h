// How a kernel in WGSL takes its arguments: what its renderer (codegen/render/wgsl_renderer.h)
// writes, and its launch (drivers/webgpu/program.h) binds.
//
//   @group(0) @binding(0)      uniform: array<vec4u>, the words of Arguments
//   @group(0) @binding(1 + g)  storage: array<u32>, memory g of a launch
//
// WebGPU binds memory from a multiple of 256 bytes on, refuses memory of which bindings overlap and
// one of them is written, and refuses a buffer that is read by one binding and written by another
// [WebGPU 3.4.5 "Resource Usages"; 16.1 "GPUBindingCommandsMixin", "encoder bind groups alias a
// writable resource"]. Params are whatever a caller has, two of them often in one buffer. So a
// kernel takes the offset of each param as a number, params in one buffer share a binding, and the
// declarations, as well as the functions load<slot> and store<slot> through which all accesses go,
// are written again for each sharing that a launch has.
//
// A source is a comment (header()), what the language wants first, kBindings, the text of
// bindings(), kKernel, and the rest.
//
// Elements of one and two bytes lie packed in words, as everywhere. A word may belong to several
// work items, so each stores its own bits with one atomic operation; then all accesses of that
// memory are atomic, because the language has it so.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/util/types.h"

namespace doorbell::webgpu::hw {

struct KernelParam {
  u32 bytes = 4;  // of an element: 1, 2, 4 or 8
  bool written = false;
  u64 count = 0;  // elements

  bool is_packed() const { return bytes < 4; }
  // In which its offset is counted.
  u32 offset_unit() const { return bytes < 4 ? bytes : 4; }
  bool operator==(const KernelParam&) const = default;
};

struct KernelAbi {
  std::vector<KernelParam> params;  // by slot
  u32 variables = 0;
  bool operator==(const KernelAbi&) const = default;

  // Words of the uniform. The first is 0, which compilers do not know; the offsets of params begin
  // at the fifth; a variable is two words, low and high.
  u32 offset_word(usize slot) const { return 4 + static_cast<u32>(slot); }
  u32 variable_word(usize position) const {
    return 4 + static_cast<u32>(params.size() + 2 * position);
  }
  u32 words() const { return (variable_word(variables) + 3) / 4 * 4; }
};
inline constexpr std::string_view kZeroText = "args[0].x";

// A word of the uniform: "args[1].z".
std::string argument(u32 word);

inline constexpr std::string_view kBindings = "// bindings\n", kKernel = "// kernel\n";
// "// params 4x1024 1wx16, variables 0\n"
std::string header(const KernelAbi& abi);
// False if `source` does not begin with one.
bool parse_header(std::string_view source, KernelAbi* abi);

struct Sharing {
  std::vector<u32> binding;  // of each param, numbered in the order of first params
  // Bindings that are read_write, whatever their params are: another one of their buffer is
  // written. A bit each.
  u32 together = 0;
  auto operator<=>(const Sharing&) const = default;
};
Sharing nothing_shared(usize params);
inline u32 bindings_of(const Sharing& sharing) {
  u32 count = 0;
  for (u32 g : sharing.binding) count = g >= count ? g + 1 : count;
  return count;
}
// Whether a binding is written (read_write).
bool is_written(const KernelAbi& abi, const Sharing& sharing, u32 binding);
std::string bindings(const KernelAbi& abi, const Sharing& sharing);
// A source whose declarations are those of this sharing. It has kBindings and kKernel.
std::string shared_source(std::string_view source, const KernelAbi& abi, const Sharing& sharing);
// same(i, j): whether params i and j < i lie in one buffer.
Sharing sharing_of(usize params, auto same) {
  Sharing sharing{std::vector<u32>(params)};
  u32 count = 0;
  for (usize i = 0; i < params; ++i) {
    usize j = 0;
    while (j < i && !same(i, j)) ++j;
    sharing.binding[i] = j < i ? sharing.binding[j] : count++;
  }
  return sharing;
}

// The store of packed elements, and their load: functions of `array`, of which `name` is the
// suffix, for memory of a work group too. `offset` is an expression.
std::string packed_load(std::string_view name, std::string_view array, u32 bytes,
                        std::string_view offset, bool atomic);
std::string packed_store(std::string_view name, std::string_view array, u32 bytes,
                         std::string_view offset);

}  // namespace doorbell::webgpu::hw
