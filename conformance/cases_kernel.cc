// Kernels at the limits of devices: many buffers, many results, thousands of operations, more live
// values than registers, more groups than one dimension holds; and equal bits in every run.
#include <fmt/format.h>

#include <cmath>

#include "conformance/inputs.h"

namespace doorbell::conformance {
namespace {

using Int = __int128;

Array counting(DType dtype, std::vector<i64> shape, i64 factor, i64 modulus) {
  i64 next = 0;
  return Array::make(dtype, std::move(shape),
                     [&](const Place&) { return Real(next++ * factor % modulus); });
}

void many_inputs(Trial& trial, i64 count) {
  Array want = counting(dtypes::i32, {33}, 0, 1);
  Tensor total;
  for (i64 i = 0; i < count; ++i) {
    const Array values = counting(dtypes::i32, {33}, i + 1, 1009);
    for (usize e = 0; e < want.values.size(); ++e) want.values[e] += values.values[e];
    const Tensor x = trial.tensor(values);
    total = total.defined() ? total + x : x;
  }
  trial.check("sum", total, want);
}

void many_outputs(Trial& trial, i64 count) {
  const Array values = counting(dtypes::i32, {257}, 7, 1009);
  const Tensor x = trial.tensor(values);
  for (i64 i = 0; i < count; ++i)
    trial.expect(fmt::format("result {}", i), x * i + (i % 3),
                 map(dtypes::i32, values, [i](Real v) { return v * Real(i) + Real(i % 3); }));
}

// Alternating operations that no rule can fold, thousands of them.
void long_chain(Trial& trial, i64 steps) {
  const Array values = counting(dtypes::u32, {129}, 2654435761, 4294967296);
  Array want = values;
  Tensor x = trial.tensor(values);
  for (i64 i = 0; i < steps; ++i) {
    x = (x * 1664525u + 1013904223u) ^ (x >> 7);
    for (Real& value : want.values) {
      const u32 v = static_cast<u32>(value);
      value = (v * 1664525u + 1013904223u) ^ (v >> 7);
    }
  }
  trial.check("value", x, want);
}

// All products are live before the first is used: they are added from the outside in.
void many_live_values(Trial& trial, i64 count) {
  const Array values = counting(dtypes::i32, {67}, 5, 101);
  const Tensor x = trial.tensor(values);
  std::vector<Tensor> live;
  for (i64 i = 0; i < count; ++i) live.push_back((x + i) ^ (x * (2 * i + 1)));
  Tensor total;
  for (i64 i = 0; i < count / 2; ++i) {
    const Tensor pair = live[static_cast<usize>(i)] * live[static_cast<usize>(count - 1 - i)];
    total = total.defined() ? (total ^ pair) + live[static_cast<usize>(i)] : pair;
  }
  Array want = map(dtypes::i32, values, [&](Real value) {
    const u32 v = static_cast<u32>(value);
    const auto at = [&](i64 i) {
      return (v + static_cast<u32>(i)) ^ (v * static_cast<u32>(2 * i + 1));
    };
    u32 sum = at(0) * at(count - 1);
    for (i64 i = 1; i < count / 2; ++i) sum = (sum ^ (at(i) * at(count - 1 - i))) + at(i);
    return wrap(dtypes::i32, static_cast<Int>(sum));
  });
  trial.check("value", total, want);
}

// More than 65,535 groups or elements along one dimension.
void large_grid(Trial& trial, const std::vector<i64>& shape, bool turned) {
  const i64 count = count_of(shape);
  Tensor x = (Tensor::arange(count, trial.on(dtypes::i32)) * 3 + 1).reshape(Shape(shape));
  if (turned) x = x.transpose(0, -1);
  Array want = Array::make(dtypes::i32, shape,
                           [i = i64{0}](const Place&) mutable { return Real(i++ * 3 + 1); });
  if (turned) {
    std::vector<i64> order(shape.size());
    for (usize i = 0; i < order.size(); ++i) order[i] = static_cast<i64>(i);
    std::swap(order.front(), order.back());
    want = permute(want, order);
  }
  trial.check("value", x.contiguous(), want);
}

// One result for each of many groups, each with a loop of its own.
void many_reductions(Trial& trial) {
  constexpr i64 kRows = 70003, kColumns = 5;
  const Tensor x =
      Tensor::arange(kRows * kColumns, trial.on(dtypes::i32)).reshape({kRows, kColumns});
  trial.check("sums", x.sum(1), Array::make(dtypes::i32, {kRows}, [](const Place& at) {
                return Real(at[0] * 25 + 10);
              }));
  trial.check("maxima", x.max(0), Array::make(dtypes::i32, {kColumns}, [](const Place& at) {
                return Real((kRows - 1) * kColumns + at[0]);
              }));
}

// A product with prime sizes, exact in f32.
void odd_matmul(Trial& trial, i64 m, i64 k, i64 n) {
  Random random(seed_of(trial.seed(), "matmul"));
  const auto whole = [&](std::vector<i64> shape) {
    return Array::make(dtypes::f32, std::move(shape),
                       [&](const Place&) { return Real(random.below(9)) - 4; });
  };
  const Array a = whole({m, k}), b = whole({k, n});
  const Array want = Array::make(dtypes::f32, {m, n}, [&](const Place& at) {
    Real sum = 0;
    for (i64 i = 0; i < k; ++i)
      sum +=
          a.values[static_cast<usize>(at[0] * k + i)] * b.values[static_cast<usize>(i * n + at[1])];
    return sum;
  });
  trial.check("product", trial.tensor(a).matmul(trial.tensor(b)), want);
  trial.check("product of transposed operands",
              trial.tensor(permute(a, {1, 0})).t().matmul(trial.tensor(permute(b, {1, 0})).t()),
              want);
}

// Products of parts of larger tensors, in memory at multiples of 16 bytes and not; exact. The right
// operand is transposed where it is of integers.
void product_of_parts(Trial& trial, DType dtype) {
  constexpr i64 kM = 96, kK = 256, kN = 128, kRow = 288;  // elements; of a row of what is sliced
  const bool turned = dtype.is_int();
  const DType wide = turned ? dtypes::i32 : dtypes::f32;
  Random random(seed_of(trial.seed(), "product of parts"));
  const auto whole = [&](std::vector<i64> shape) {
    return Array::make(dtype, std::move(shape),
                       [&](const Place&) { return Real(random.below(9)) - 4; });
  };
  const Array a = whole({kM + 40, kRow}), b = whole({kN + 40, kRow});
  const Tensor x = trial.tensor(a), y = trial.tensor(turned ? b : permute(b, {1, 0}));
  for (const auto& [row, column] : {std::pair<i64, i64>{0, 0}, {40, 32}, {8, 3}, {1, 8}}) {
    const Array want = Array::make(wide, {kM, kN}, [&](const Place& at) {
      Real sum = 0;
      for (i64 i = 0; i < kK; ++i)
        sum += a.at({row + at[0], column + i}) * b.at({row + at[1], column + i});
      return sum;
    });
    const Slice rows(row, row + kN), columns(column, column + kK);
    const Tensor left = x[{Slice(row, row + kM), columns}].cast(wide),
                 right = turned ? y[{rows, columns}].t() : y[{columns, rows}];
    trial.check(fmt::format("from {}, {}", row, column), left.matmul(right.cast(wide)), want);
  }
}

// Products of narrow floats summed in f32, of narrow integers in i32, exact, in batches and sizes
// that matrix instructions take whole.
void narrow_matmul(Trial& trial, DType dtype, i64 batch, i64 m, i64 k, i64 n) {
  const DType wide = dtype.is_float() ? dtypes::f32 : dtypes::i32;
  const Real least = dtype.is_unsigned() ? 0 : -4;
  Random random(seed_of(trial.seed(), "narrow matmul"));
  const auto whole = [&](std::vector<i64> shape) {
    return Array::make(dtype, std::move(shape),
                       [&](const Place&) { return Real(random.below(9)) + least; });
  };
  const Array a = whole({batch, m, k}), b = whole({batch, k, n});
  const Array want = Array::make(wide, {batch, m, n}, [&](const Place& at) {
    Real sum = 0;
    for (i64 i = 0; i < k; ++i)
      sum += a.values[static_cast<usize>((at[0] * m + at[1]) * k + i)] *
             b.values[static_cast<usize>((at[0] * k + i) * n + at[2])];
    return sum;
  });
  const Tensor x = trial.tensor(a).cast(wide), y = trial.tensor(b).cast(wide);
  trial.check("product", x.matmul(y), want);
  const Tensor turned = trial.tensor(permute(b, {0, 2, 1})).transpose(1, 2).cast(wide);
  trial.check("product of a transposed operand", x.matmul(turned), want);
  const Tensor columns = trial.tensor(permute(a, {0, 2, 1})).transpose(1, 2).cast(wide);
  trial.check("product of columns", columns.matmul(y), want);
}

// Of a 3x3 window over 16 columns, in sizes that matrix instructions take whole; exact.
void narrow_convolution(Trial& trial, DType dtype, i64 padding) {
  constexpr i64 kIn = 64, kOut = 32, kSize = 16, kWindow = 3;
  const i64 size = kSize + kWindow - 1 - 2 * padding;
  Random random(seed_of(trial.seed(), "narrow convolution"));
  const auto whole = [&](std::vector<i64> shape) {
    return Array::make(dtype, std::move(shape),
                       [&](const Place&) { return Real(random.below(9)) - 4; });
  };
  const Array image = whole({2, kIn, size, size}), weights = whole({kOut, kIn, kWindow, kWindow});
  const Array want = Array::make(dtypes::f32, {2, kOut, kSize, kSize}, [&](const Place& at) {
    Real sum = 0;
    for (i64 d = 0; d < kIn * kWindow * kWindow; ++d) {
      const i64 channel = d / (kWindow * kWindow);
      const i64 row = at[2] + d / kWindow % kWindow - padding,
                column = at[3] + d % kWindow - padding;
      if (row < 0 || row >= size || column < 0 || column >= size) continue;
      const i64 pixel = ((at[0] * kIn + channel) * size + row) * size + column;
      sum += image.values[static_cast<usize>(pixel)] *
             weights.values[static_cast<usize>(at[1] * kIn * kWindow * kWindow + d)];
    }
    return sum;
  });
  const Tensor x = trial.tensor(image).cast(dtypes::f32),
               w = trial.tensor(weights).cast(dtypes::f32);
  trial.check("convolution", x.conv2d(w, {.padding = padding}), want);
}

void same_bits_again(Trial& trial) {
  Random random(seed_of(trial.seed(), "bits"));
  const Array a = random_array(random, dtypes::f32, {61, 67}, Domain::Any);
  const Array b = random_array(random, dtypes::f32, {67, 53}, Domain::Any);
  std::vector<std::vector<std::byte>> first;
  for (int run = 0; run < 4; ++run) {
    const Tensor x = trial.tensor(a), y = trial.tensor(b);
    const Tensor results[] = {x.matmul(y), x.sum(), x.softmax(-1), y.exp().mean(0), x.cumsum(1)};
    Tensor::realize(results);
    for (usize i = 0; i < std::size(results); ++i) {
      std::vector<std::byte> bytes = results[i].to_bytes();
      if (run == 0)
        first.push_back(std::move(bytes));
      else
        trial.require(bytes == first[i], fmt::format("result {} of run {} has other bits", i, run));
    }
  }
}

}  // namespace

void add_kernel_cases(Suite& suite) {
  const Needs ints{.dtypes = {dtypes::i32}};
  for (i64 count : {20, 40, 150})
    suite.add_alone(fmt::format("kernel/buffers/{}", count), ints,
                    [=](Trial& t) { many_inputs(t, count); });
  suite.add_alone("kernel/results/40", ints, [](Trial& t) { many_outputs(t, 40); });
  for (i64 steps : {100, 1000})
    suite.add_alone(fmt::format("kernel/operations/{}", steps), {.dtypes = {dtypes::u32}},
                    [=](Trial& t) { long_chain(t, steps); });
  for (i64 count : {32, 128})
    suite.add_alone(fmt::format("kernel/live_values/{}", count), ints,
                    [=](Trial& t) { many_live_values(t, count); });
  for (const std::vector<i64>& shape :
       {std::vector<i64>{70001, 3}, {3, 70001}, {65537}, {1, 66000, 1, 2}, {131, 17, 211}}) {
    for (const bool turned : {false, true}) {
      if (turned && shape.size() < 2) continue;
      suite.add_alone(
          fmt::format("kernel/grid/{}{}", fmt::join(shape, "x"), turned ? "_turned" : ""), ints,
          [=](Trial& t) { large_grid(t, shape, turned); });
    }
  }
  suite.add_alone("kernel/grid/reductions", ints, many_reductions);
  for (const std::vector<i64>& s : {std::vector<i64>{1, 1, 1},
                                    {1, 129, 1},
                                    {33, 65, 17},
                                    {128, 64, 96},
                                    {7, 300, 130},
                                    {67, 1033, 97}})
    suite.add_alone(fmt::format("kernel/matmul/{}", fmt::join(s, "x")), {},
                    [=](Trial& t) { odd_matmul(t, s[0], s[1], s[2]); });
  for (const DType dtype : {dtypes::f16, dtypes::bf16, dtypes::f8e4m3, dtypes::f8e5m2,
                            dtypes::f8e4m3fnuz, dtypes::f8e5m2fnuz, dtypes::i8, dtypes::u8}) {
    for (const std::vector<i64>& s :
         {std::vector<i64>{1, 64, 128, 48}, {3, 80, 32, 112}, {2, 64, 256, 128}})
      suite.add_alone(fmt::format("kernel/matmul/{}/{}", dtype.str(), fmt::join(s, "x")), {},
                      [=](Trial& t) { narrow_matmul(t, dtype, s[0], s[1], s[2], s[3]); });
  }
  // More blocks than the few multiprocessors that an emulated GPU may have.
  suite.add_alone("kernel/matmul/f16/many_blocks", {},
                  [](Trial& t) { narrow_matmul(t, dtypes::f16, 1, 384, 320, 512); });
  for (const DType dtype : {dtypes::f16, dtypes::bf16}) {
    for (const i64 padding : {0, 1})
      suite.add_alone(fmt::format("kernel/convolution/{}/padding_{}", dtype.str(), padding), {},
                      [=](Trial& t) { narrow_convolution(t, dtype, padding); });
  }
  for (const DType dtype : {dtypes::f16, dtypes::i8})
    suite.add_alone(fmt::format("kernel/matmul/{}/parts", dtype.str()), {},
                    [=](Trial& t) { product_of_parts(t, dtype); });
  suite.add_alone("kernel/determinism/bits", {.runs = true}, same_bits_again);
}

}  // namespace doorbell::conformance
