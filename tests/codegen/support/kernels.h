// Kernels in the form the scheduler hands over, built by hand for the tests of lowering.
#pragma once

#include "core/schedule/kernel.h"

namespace doorbell::codegen {

// A builder of one kernel's graph: ranges get ids in the order they are asked for.
class KernelBuilder {
 public:
  KernelBuilder() { ast_.arena = std::make_unique<core::Arena>(); }

  core::Arena& arena() { return *ast_.arena; }
  core::UOp param(i64 slot, i64 count, core::DType t = core::dtypes::f32) {
    params_ = std::max(params_, slot + 1);
    return arena().make(core::Op::Param, t, {}, {slot, count});
  }
  core::UOp loop(i64 size) { return arena().range(next_++, core::AxisType::Loop, size); }
  core::UOp reduced(i64 size) { return arena().range(next_++, core::AxisType::Reduce, size); }
  core::UOp op(core::Op o, core::UOp a, core::UOp b) {
    core::DType t = core::is_comparison(o) ? core::dtypes::bool_ : a.dtype();
    return arena().make(o, t, {a, b});
  }
  core::UOp add(core::UOp a, core::UOp b) { return op(core::Op::Add, a, b); }
  core::UOp add(core::UOp a, i64 b) { return add(a, arena().index(b)); }
  core::UOp mul(core::UOp a, core::UOp b) { return op(core::Op::Mul, a, b); }
  core::UOp mul(core::UOp a, i64 b) { return mul(a, arena().index(b)); }
  core::UOp lt(core::UOp a, i64 b) { return op(core::Op::CmpLt, a, arena().index(b)); }
  core::UOp ge(core::UOp a, i64 b) {
    return op(core::Op::CmpNe, lt(a, b), arena().const_int(core::dtypes::bool_, 1));
  }
  core::UOp load(core::UOp memory, core::UOp index, core::UOp gate = {}) {
    core::DType t = memory.dtype();
    if (!gate)
      return arena().make(core::Op::Load, t, {arena().make(core::Op::Index, t, {memory, index})});
    core::UOp place = arena().make(core::Op::Index, t, {memory, index, gate});
    return arena().make(core::Op::Load, t, {place, arena().const_of(t, 0)});
  }
  core::UOp reduce(core::Op o, core::UOp value, std::initializer_list<core::UOp> ranges) {
    std::vector<core::UOp> srcs{value};
    srcs.insert(srcs.end(), ranges);
    i64 args[2] = {static_cast<i64>(o), 0};
    return arena().make(core::Op::Reduce, value.dtype(), srcs, args);
  }
  // The one output, at Param 0.
  core::KernelAst store(core::UOp memory, core::UOp index, core::UOp value,
                        std::initializer_list<core::UOp> ranges) {
    return store({{memory, value}}, index, ranges);
  }
  // Several values, by the memory of each, all at one index.
  core::KernelAst store(std::initializer_list<std::pair<core::UOp, core::UOp>> outputs,
                        core::UOp index, std::initializer_list<core::UOp> ranges) {
    std::vector<core::UOp> stores;
    for (const auto& [memory, value] : outputs) {
      core::UOp place = arena().make(core::Op::Index, memory.dtype(), {memory, index});
      stores.push_back(arena().make(core::Op::Store, core::dtypes::void_, {place, value}));
    }
    std::vector<core::UOp> srcs{stores[0]};
    if (stores.size() > 1) srcs[0] = arena().make(core::Op::Group, core::dtypes::void_, stores);
    srcs.insert(srcs.end(), ranges);
    return finish(arena().make(core::Op::End, core::dtypes::void_, srcs));
  }
  core::KernelAst finish(core::UOp end) {
    ast_.sink = arena().make(core::Op::Sink, core::dtypes::void_, {end});
    ast_.param_count = static_cast<u32>(params_);
    ast_.output_count = 1;
    ast_.key = ast_.sink.node()->hash;
    return std::move(ast_);
  }

 private:
  core::KernelAst ast_;
  i64 next_ = 0, params_ = 0;
};

// out[i] = a[i] + b[i]
core::KernelAst add_kernel(i64 n);
// out[m, n] = relu(sum over k of a[m, k] * b[k, n] + bias[n]); b is [n, k] when transposed
core::KernelAst matmul_kernel(i64 m, i64 n, i64 k, bool transposed = false);
// out[b, m, n] = f32 sum over k of x[b, m, k] * y[b, k, n] (y[b, n, k] when transposed), the
// product in the narrow dtype, then cast, as the tensor API makes it. Integers are cast to i32
// before they are multiplied.
// Of parts of the depth: out[p, b, m, n], over a part of k each, as core/schedule makes it.
struct ProductSizes {
  i64 batch, m, n, k, parts = 1;
};
// of_columns: the left operand is x[b, k, m], whose rows are not contiguous.
core::KernelAst narrow_product_kernel(core::DType t, ProductSizes s, bool transposed = false,
                                      bool of_columns = false);
// out[b, o, y, x] = sum over i, ky, kx of in[b, i, y+ky-pad, x+kx-pad] * w[o, i, ky, kx]; of narrow
// floats, as narrow_product_kernel
core::KernelAst conv_kernel(i64 batch, i64 in, i64 out, i64 size, i64 kernel, i64 pad,
                            core::DType t = core::dtypes::f32);
// out[o, i, ky, kx] = sum over b, y, x of in[b, i, y+ky, x+kx] * g[b, o, y, x]
core::KernelAst conv_weights_kernel(i64 batch, i64 in, i64 out, i64 size, i64 kernel);
// out[r] = op over c of x[r, c]
core::KernelAst row_reduce_kernel(core::Op op, i64 rows, i64 columns);
// out[r, c] = (x[r, c] - max of row r) * (sum over c of x[r, c] - max of row r)
core::KernelAst two_row_sums_kernel(i64 rows, i64 columns);
// out[j, i] = x[i, j], and out[i] = x[n-1-i]
// out[i], computed in f32 from in1[i], in2[i], ..., all of which are used twice, far apart.
core::KernelAst many_inputs_kernel(core::DType t, i64 inputs, i64 n);
// out[i] = sum over k < window of the product of in1[k, i], in2[k, i], ...
core::KernelAst window_sum_kernel(i64 inputs, i64 window, i64 n);
core::KernelAst transpose_kernel(i64 rows, i64 columns);
core::KernelAst reverse_kernel(i64 n);
// out[i, c] = x[rows[i], c], rows loaded as i32
core::KernelAst gather_kernel(i64 n, i64 columns, i64 table);
// out[i] = sum over r of where(x[i, r] > 0, sum over k of y[i, r, k], 0)
core::KernelAst nested_reduce_kernel(i64 n, i64 r, i64 k);
// out[i] = (f32) i + x[i % period]
core::KernelAst iota_kernel(i64 n, i64 period);

}  // namespace doorbell::codegen
