// The kernels' graphs.
#include "tests/codegen/support/kernels.h"

namespace doorbell::codegen {

using core::KernelAst;
using core::Op;
using core::UOp;

KernelAst add_kernel(i64 n) {
  KernelBuilder k;
  UOp out = k.param(0, n), a = k.param(1, n), b = k.param(2, n), i = k.loop(n);
  return k.store(out, i, k.add(k.load(a, i), k.load(b, i)), {i});
}

KernelAst matmul_kernel(i64 m, i64 n, i64 kk, bool transposed) {
  KernelBuilder k;
  UOp out = k.param(0, m * n), a = k.param(1, m * kk), b = k.param(2, n * kk), bias = k.param(3, n);
  UOp i = k.loop(m), j = k.loop(n), r = k.reduced(kk);
  UOp b_at = transposed ? k.add(k.mul(j, kk), r) : k.add(k.mul(r, n), j);
  UOp product = k.mul(k.load(a, k.add(k.mul(i, kk), r)), k.load(b, b_at));
  UOp sum = k.add(k.reduce(Op::Add, product, {r}), k.load(bias, j));
  UOp relu = k.op(Op::Max, sum, k.arena().const_of(core::dtypes::f32, 0));
  return k.store(out, k.add(k.mul(i, n), j), relu, {i, j});
}

KernelAst narrow_product_kernel(core::DType t, ProductSizes s, bool transposed, bool of_columns) {
  KernelBuilder k;
  const core::DType wide = t.is_float() ? core::dtypes::f32 : core::dtypes::i32;
  UOp out = k.param(0, s.parts * s.batch * s.m * s.n, wide);
  UOp x = k.param(1, s.batch * s.m * s.k, t), y = k.param(2, s.batch * s.k * s.n, t);
  UOp p = s.parts > 1 ? k.loop(s.parts) : k.arena().index(0);
  UOp b = k.loop(s.batch), i = k.loop(s.m), j = k.loop(s.n), in = k.reduced(s.k / s.parts);
  UOp row = k.add(k.mul(b, s.m), i), d = s.parts > 1 ? k.add(k.mul(p, s.k / s.parts), in) : in;
  UOp at_x = of_columns ? k.add(k.mul(k.add(k.mul(b, s.k), d), s.m), i) : k.add(k.mul(row, s.k), d);
  UOp at_y = transposed ? k.add(k.mul(k.add(k.mul(b, s.n), j), s.k), d)
                        : k.add(k.mul(k.add(k.mul(b, s.k), d), s.n), j);
  UOp left = k.load(x, at_x), right = k.load(y, at_y);
  auto widen = [&](UOp value) {
    return t == wide ? value : k.arena().make(Op::Cast, wide, {value});
  };
  if (!t.is_float()) left = widen(left), right = widen(right);
  UOp product = k.op(Op::Mul, left, right);
  UOp sum = k.reduce(Op::Add, t.is_float() ? widen(product) : product, {in});
  UOp to = k.add(k.mul(row, s.n), j);
  if (s.parts == 1) return k.store(out, to, sum, {b, i, j});
  return k.store(out, k.add(k.mul(p, s.batch * s.m * s.n), to), sum, {p, b, i, j});
}

KernelAst conv_kernel(i64 batch, i64 in, i64 out, i64 size, i64 kernel, i64 pad, core::DType t) {
  KernelBuilder k;
  const core::DType wide = core::dtypes::f32;
  i64 result = size + 2 * pad - kernel + 1;
  UOp dst = k.param(0, batch * out * result * result);
  UOp src = k.param(1, batch * in * size * size, t), w = k.param(2, out * in * kernel * kernel, t);
  UOp b = k.loop(batch), o = k.loop(out), y = k.loop(result), x = k.loop(result);
  UOp i = k.reduced(in), ky = k.reduced(kernel), kx = k.reduced(kernel);
  UOp sy = k.add(k.add(y, ky), -pad), sx = k.add(k.add(x, kx), -pad);
  UOp gate;
  if (pad > 0) {
    UOp rows = k.op(Op::And, k.ge(sy, 0), k.lt(sy, size));
    UOp columns = k.op(Op::And, k.ge(sx, 0), k.lt(sx, size));
    gate = k.op(Op::And, rows, columns);
  }
  UOp plane = k.add(k.mul(b, in), i);
  UOp s_at = k.add(k.mul(k.add(k.mul(plane, size), sy), size), sx);
  UOp w_at = k.add(k.mul(k.add(k.mul(k.add(k.mul(o, in), i), kernel), ky), kernel), kx);
  UOp left = k.load(src, s_at, gate), right = k.load(w, w_at);
  UOp product = k.op(Op::Mul, left, right);
  if (t != wide) product = k.arena().make(Op::Cast, wide, {product});
  UOp d_plane = k.add(k.mul(b, out), o);
  UOp d_at = k.add(k.mul(k.add(k.mul(d_plane, result), y), result), x);
  return k.store(dst, d_at, k.reduce(Op::Add, product, {i, ky, kx}), {b, o, y, x});
}

KernelAst conv_weights_kernel(i64 batch, i64 in, i64 out, i64 size, i64 kernel) {
  KernelBuilder k;
  i64 result = size - kernel + 1;
  UOp dst = k.param(0, out * in * kernel * kernel), src = k.param(1, batch * in * size * size);
  UOp g = k.param(2, batch * out * result * result);
  UOp o = k.loop(out), i = k.loop(in), ky = k.loop(kernel), kx = k.loop(kernel);
  UOp b = k.reduced(batch), y = k.reduced(result), x = k.reduced(result);
  UOp s_row = k.add(k.mul(k.add(k.mul(b, in), i), size), k.add(y, ky));
  UOp g_row = k.add(k.mul(k.add(k.mul(b, out), o), result), y);
  UOp product = k.mul(k.load(src, k.add(k.mul(s_row, size), k.add(x, kx))),
                      k.load(g, k.add(k.mul(g_row, result), x)));
  UOp d_row = k.add(k.mul(k.add(k.mul(o, in), i), kernel), ky);
  UOp d_at = k.add(k.mul(d_row, kernel), kx);
  return k.store(dst, d_at, k.reduce(Op::Add, product, {b, y, x}), {o, i, ky, kx});
}

KernelAst row_reduce_kernel(Op op, i64 rows, i64 columns) {
  KernelBuilder k;
  UOp out = k.param(0, rows), x = k.param(1, rows * columns);
  UOp r = k.loop(rows), c = k.reduced(columns);
  return k.store(out, r, k.reduce(op, k.load(x, k.add(k.mul(r, columns), c)), {c}), {r});
}

KernelAst two_row_sums_kernel(i64 rows, i64 columns) {
  KernelBuilder k;
  UOp out = k.param(0, rows * columns), x = k.param(1, rows * columns);
  UOp r = k.loop(rows), c = k.loop(columns), c1 = k.reduced(columns), c2 = k.reduced(columns);
  UOp row = k.mul(r, columns);
  UOp top = k.reduce(Op::Max, k.load(x, k.add(row, c1)), {c1});
  UOp sum = k.reduce(Op::Add, k.op(Op::Sub, k.load(x, k.add(row, c2)), top), {c2});
  UOp centred = k.op(Op::Sub, k.load(x, k.add(row, c)), top);
  return k.store(out, k.add(row, c), k.mul(centred, sum), {r, c});
}

KernelAst many_inputs_kernel(core::DType t, i64 inputs, i64 n) {
  KernelBuilder k;
  UOp out = k.param(0, n, t), i = k.loop(n), sum;
  std::vector<UOp> values;
  for (i64 slot = 1; slot <= inputs; ++slot) {
    UOp loaded = k.load(k.param(slot, n, t), i);
    values.push_back(k.arena().make(Op::Cast, core::dtypes::f32, {loaded}));
    sum = sum ? k.add(sum, values.back()) : values.back();
  }
  UOp result = sum;
  for (UOp value : values) result = k.mul(k.add(result, value), sum);
  return k.store(out, i, k.arena().make(Op::Cast, t, {result}), {i});
}

KernelAst window_sum_kernel(i64 inputs, i64 window, i64 n) {
  KernelBuilder k;
  UOp out = k.param(0, n), i = k.loop(n), d = k.reduced(window), product;
  UOp at = k.add(k.mul(d, n), i);
  for (i64 slot = 1; slot <= inputs; ++slot) {
    UOp value = k.load(k.param(slot, window * n), at);
    product = product ? k.mul(product, value) : value;
  }
  return k.store(out, i, k.reduce(Op::Add, product, {d}), {i});
}

KernelAst transpose_kernel(i64 rows, i64 columns) {
  KernelBuilder k;
  UOp out = k.param(0, rows * columns), x = k.param(1, rows * columns);
  UOp j = k.loop(columns), i = k.loop(rows);
  return k.store(out, k.add(k.mul(j, rows), i), k.load(x, k.add(k.mul(i, columns), j)), {j, i});
}

KernelAst reverse_kernel(i64 n) {
  KernelBuilder k;
  UOp out = k.param(0, n), x = k.param(1, n), i = k.loop(n);
  return k.store(out, i, k.load(x, k.add(k.mul(i, -1), n - 1)), {i});
}

KernelAst gather_kernel(i64 n, i64 columns, i64 table) {
  KernelBuilder k;
  UOp out = k.param(0, n * columns), rows = k.param(1, n, core::dtypes::i32);
  UOp x = k.param(2, table * columns), c = k.loop(columns), i = k.loop(n);
  UOp row = k.arena().make(Op::Cast, core::dtypes::index, {k.load(rows, i)});
  UOp gate = k.op(Op::And, k.ge(row, 0), k.lt(row, table));
  // The axis of the loaded index is the contiguous one of the result.
  UOp value = k.load(x, k.add(k.mul(row, columns), c), gate);
  return k.store(out, k.add(k.mul(c, n), i), value, {c, i});
}

KernelAst nested_reduce_kernel(i64 n, i64 rr, i64 kk) {
  KernelBuilder k;
  UOp out = k.param(0, n), x = k.param(1, n * rr), y = k.param(2, n * rr * kk);
  UOp i = k.loop(n), inner = k.reduced(kk), outer = k.reduced(rr);  // ids against the nesting
  UOp at = k.add(k.mul(i, rr), outer);
  UOp sum = k.reduce(Op::Add, k.load(y, k.add(k.mul(at, kk), inner)), {inner});
  UOp zero = k.arena().const_of(core::dtypes::f32, 0);
  UOp positive = k.op(Op::CmpLt, zero, k.load(x, at));
  UOp chosen = k.arena().make(Op::Where, core::dtypes::f32, {positive, sum, zero});
  return k.store(out, i, k.reduce(Op::Add, chosen, {outer}), {i});
}

KernelAst iota_kernel(i64 n, i64 period) {
  KernelBuilder k;
  UOp out = k.param(0, n), x = k.param(1, period), i = k.loop(n);
  UOp wrapped = k.op(Op::FloorMod, i, k.arena().index(period));
  UOp value = k.arena().make(Op::Cast, core::dtypes::f32, {i});
  return k.store(out, i, k.add(value, k.load(x, wrapped)), {i});
}

}  // namespace doorbell::codegen
