// The name of a kernel: what it computes and over which loops, for profiles, logs and backtraces.
// It is derived from the kernel's graph alone, so that equal kernels have equal names and caches
// need not store it. For the words of single operations see operation_words.h.
#pragma once

#include <string>

#include "codegen/opt/kernel_info.h"

namespace doorbell::codegen {

// "matmul_relu_8_16_r32_31a99302": operations in the order of their work, the loops' sizes (those
// of reductions after an r, symbolic ones as n), and digits of `key`, which distinguish kernels
// with equal words and sizes. A valid identifier in every language that kernels are rendered in, of
// at most kLongestKernelName characters.
std::string kernel_name(const KernelInfo& info, u64 key);

inline constexpr usize kLongestKernelName = 60;

}  // namespace doorbell::codegen
