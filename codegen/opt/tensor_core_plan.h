// Contractions for matrix instructions: recognises them and plans them.
#pragma once

#include <optional>

#include "codegen/caps.h"
#include "codegen/opt/kernel_info.h"
#include "codegen/opt/opt.h"

namespace doorbell::codegen::detail {

// sum of f32(x) * f32(y) over `reduce`, x and y of the same narrow dtype; or of i32 and integers;
// or of loads of f32, which a tensor core may round.
struct Product {
  const ReduceInfo* reduce;
  core::UOp x, y;  // before their casts
};
std::optional<Product> find_product(const KernelInfo& info);

// Empty if the kernel is not such a contraction, the target has no tensor core for the dtype, or
// the sizes are not multiples of an instruction's.
// `time`, unless it is null: what it is estimated to take, in multiply-adds on a full target, for
// each one.
Plan tensor_core_plan(const KernelInfo& info, const Caps& caps, f64* time = nullptr);

}  // namespace doorbell::codegen::detail
