// Products of narrow numbers by linear programs, compared with sums that are computed here.
#pragma once

#include <vector>

#include "codegen/linear/program.h"
#include "tests/codegen/support/kernels.h"

namespace doorbell::codegen {

// Small whole numbers, which are exact in every dtype, and so are their sums.
std::vector<u8> numbers(core::DType t, i64 count, i64 seed);
f64 number(core::DType t, const std::vector<u8>& values, i64 at);

// Runs the program of narrow_product_kernel() and expects the right results.
void expect_product(const LinearProgram& program, core::DType t, ProductSizes s, bool transposed,
                    bool of_columns = false);
// Whether that is broken: results are wrong, or the interpreter finds what is.
bool is_broken_product(const LinearProgram& program, core::DType t, ProductSizes s,
                       bool transposed);

}  // namespace doorbell::codegen
