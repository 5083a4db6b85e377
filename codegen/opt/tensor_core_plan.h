// Contractions that matrix instructions can do: recognising one, and its plan.
#pragma once

#include <optional>

#include "codegen/caps.h"
#include "codegen/opt/kernel_info.h"
#include "codegen/opt/opt.h"

namespace doorbell::codegen::detail {

// sum of f32(x) * f32(y) over `reduce`, x and y of the same narrow dtype; or of i32 and integers.
struct Product {
  const ReduceInfo* reduce;
  core::UOp x, y;  // before their casts
};
std::optional<Product> find_product(const KernelInfo& info);

// Empty where the kernel is no such contraction, the target has no tensor core of the dtype, or the
// sizes are not whole instructions.
Plan tensor_core_plan(const KernelInfo& info, const Caps& caps);

}  // namespace doorbell::codegen::detail
