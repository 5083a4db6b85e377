// The reference, op by op; and running a schedule on host memory.
#include "tests/core/schedule/tensor_reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include <gtest/gtest.h>

#include "base/util/check.h"
#include "core/eval/interpret.h"

namespace doorbell::core::test {

// ---- graphs

UOpRef buffer(const Sizes& shape, DType dtype, i64 device) {
  static i64 next = 1;
  std::vector<i64> args{next++, 0, device};
  args.insert(args.end(), shape.begin(), shape.end());
  return TensorGraph::make(Op::Buffer, dtype, {}, args);
}
UOpRef constant(f64 value, DType dtype) {
  i64 bits = dtype.is_float() ? std::bit_cast<i64>(value) : static_cast<i64>(value);
  return TensorGraph::make(Op::Const, dtype, {}, {bits});
}
UOpRef variable(const char* name, i64 value, i64 max) {
  UOpRef v = TensorGraph::make(Op::Variable, dtypes::index, {}, {intern_name(name), 1, max});
  UOpRef c = TensorGraph::make(Op::Const, dtypes::index, {}, {value});
  return TensorGraph::make(Op::Bind, dtypes::index, {*v, *c});
}
namespace {
UOpRef move(Op op, const UOpRef& a, const Sizes& args) {
  UOp src = *a;
  return TensorGraph::make(op, a->dtype(), {&src, 1}, args);
}
}  // namespace
UOpRef reshape(const UOpRef& a, const Sizes& shape) { return move(Op::Reshape, a, shape); }
UOpRef permute(const UOpRef& a, const Sizes& order) { return move(Op::Permute, a, order); }
UOpRef expand(const UOpRef& a, const Sizes& shape) { return move(Op::Expand, a, shape); }
UOpRef pad(const UOpRef& a, const std::vector<std::pair<i64, i64>>& around) {
  Sizes args;
  for (usize i = 0; i < around.size(); ++i) {
    args.push_back(around[i].first);
    args.push_back(a->dim(i).value() + around[i].first + around[i].second);
  }
  return move(Op::Pad, a, args);
}
UOpRef shrink(const UOpRef& a, const std::vector<std::pair<i64, i64>>& windows) {
  Sizes args;
  for (auto [start, end] : windows) {
    args.push_back(start);
    args.push_back(end - start);
  }
  return move(Op::Shrink, a, args);
}
UOpRef flip(const UOpRef& a, i64 axes) { return move(Op::Flip, a, {axes}); }
UOpRef unary(Op op, const UOpRef& a) { return TensorGraph::make(op, a->dtype(), {*a}); }
UOpRef cast(const UOpRef& a, DType dtype) { return TensorGraph::make(Op::Cast, dtype, {*a}); }
UOpRef binary(Op op, const UOpRef& a, const UOpRef& b) {
  return TensorGraph::make(op, is_comparison(op) ? dtypes::bool_ : a->dtype(), {*a, *b});
}
UOpRef where(const UOpRef& c, const UOpRef& a, const UOpRef& b) {
  return TensorGraph::make(Op::Where, a->dtype(), {*c, *a, *b});
}
UOpRef reduce(Op op, const UOpRef& a, i64 axes) {
  return TensorGraph::make(Op::Reduce, a->dtype(), {*a}, {static_cast<i64>(op), axes});
}
UOpRef contiguous(const UOpRef& a) { return unary(Op::Contiguous, a); }
UOpRef copy(const UOpRef& a, i64 device) {
  return TensorGraph::make(Op::Copy, a->dtype(), {*a}, {device});
}
UOpRef assign(const UOpRef& target, const UOpRef& value) {
  return TensorGraph::make(Op::Assign, value->dtype(), {*target, *value});
}

UOpRef matmul(const UOpRef& a, const UOpRef& b) {
  i64 m = a->dim(0).value(), k = a->dim(1).value(), n = b->dim(1).value();
  UOpRef left = expand(reshape(a, {m, 1, k}), {m, n, k});
  UOpRef right = expand(reshape(permute(b, {1, 0}), {1, n, k}), {m, n, k});
  return reshape(sum(mul(left, right), 4), {m, n});
}
UOpRef softmax(const UOpRef& a) {
  Sizes shape = shape_of(*a);
  UOpRef top = expand(reduce(Op::Max, a, 2), shape);
  UOpRef e = unary(Op::Exp2, mul(binary(Op::Sub, a, top), constant(1.4426950408889634)));
  return mul(e, expand(unary(Op::Recip, sum(e, 2)), shape));
}
UOpRef arange(i64 count, DType dtype) {
  // Rows of as many zeros and ones, each shifted left by one more than the row above: the first
  // `count` places of column j hold j ones.
  UOpRef ones = expand(reshape(constant(1, dtype), {1, 1}), {count, count});
  UOpRef rows = reshape(pad(ones, {{0, 0}, {count, 0}}), {2 * count * count});
  UOpRef slanted = reshape(pad(rows, {{0, count}}), {count, 2 * count + 1});
  return reshape(sum(shrink(slanted, {{0, count}, {0, count}}), 1), {count});
}

Sizes shape_of(UOp node) {
  Sizes shape;
  for (usize i = 0; i < node.ndim(); ++i) shape.push_back(node.dim(i).value());
  return shape;
}

// ---- reference

namespace {

struct Tensor {
  Sizes shape;
  Values values;
};

i64 count_of(const Sizes& shape) {
  i64 count = 1;
  for (i64 s : shape) count *= s;
  return count;
}

// Calls `f(position, index)` for every element in row-major order.
template <class F>
void for_each(const Sizes& shape, F f) {
  Sizes index(shape.size(), 0);
  for (i64 at = 0, count = count_of(shape); at < count; ++at) {
    f(static_cast<usize>(at), index);
    for (usize i = shape.size(); i-- > 0;) {
      if (++index[i] < shape[i]) break;
      index[i] = 0;
    }
  }
}

usize flat(const Sizes& index, const Sizes& shape) {
  i64 at = 0;
  for (usize i = 0; i < shape.size(); ++i) at = at * shape[i] + index[i];
  return static_cast<usize>(at);
}

f64 rounded(f64 value, DType dtype) {
  if (dtype == dtypes::f32) return static_cast<f32>(value);
  if (dtype == dtypes::i32) return static_cast<i32>(static_cast<i64>(value));
  if (dtype.is_bool()) return value != 0;
  return value;
}

f64 scalar(Op op, f64 a, f64 b, f64 c) {
  switch (op) {
    case Op::Cast: return a;
    case Op::Neg: return -a;
    case Op::Exp2: return std::exp2(a);
    case Op::Log2: return std::log2(a);
    case Op::Sin: return std::sin(a);
    case Op::Sqrt: return std::sqrt(a);
    case Op::Recip: return 1 / a;
    case Op::Trunc: return std::trunc(a);
    case Op::Add: return a + b;
    case Op::Sub: return a - b;
    case Op::Mul: return a * b;
    case Op::FDiv: return a / b;
    case Op::Max: return std::max(a, b);
    case Op::CmpLt: return a < b;
    case Op::CmpEq: return a == b;
    case Op::CmpNe: return a != b;
    case Op::And: return a != 0 && b != 0;
    case Op::Or: return a != 0 || b != 0;
    case Op::Where: return a != 0 ? b : c;
    default: UNREACHABLE("the reference has no {}", name_of(op));
  }
}

class Reference {
 public:
  explicit Reference(const std::map<i64, i64>& variables) : variables_(variables) {}

  const Tensor& value(UOp node) {
    auto it = done_.find(node.node());
    if (it != done_.end()) return it->second;
    return done_.emplace(node.node(), compute(node)).first->second;
  }

 private:
  i64 number(UOp node) { return static_cast<i64>(value(node).values[0]); }
  i64 size(Dim dim) { return dim.is_const() ? dim.value() : number(dim.expr()); }
  i64 arg(UOp node, usize i) {
    i64 a = node.arg(i);
    return is_dynamic_dim(a) ? number(node.src(1 + dynamic_dim_index(a))) : a;
  }

  Tensor compute(UOp node) {
    Sizes shape;
    for (usize i = 0; i < node.ndim(); ++i) shape.push_back(size(node.dim(i)));
    if (node.is(Op::Buffer)) return {shape, input_values(node)};
    if (node.is(Op::Const)) {
      f64 v = node.dtype().is_float() ? node.const_float() : static_cast<f64>(node.const_int());
      return {shape, {v}};
    }
    if (node.is(Op::Bind)) {
      return {shape, {static_cast<f64>(variables_.at(node.src(0).arg(0)))}};
    }
    if (is_elementwise(node.op())) return elementwise(node, shape);
    Tensor src = value(node.src(node.is(Op::Assign) ? 1 : 0));
    if (node.is(Op::Reduce)) return reduced(node, shape, src);
    if (!is_movement(node.op()) || node.is(Op::Reshape)) return {shape, src.values};
    return moved(node, shape, src);
  }

  Tensor elementwise(UOp node, const Sizes& shape) {
    std::vector<Tensor> srcs;
    for (UOp s : node.srcs()) srcs.push_back(value(s));
    Tensor result{shape, Values(static_cast<usize>(count_of(shape)))};
    for_each(shape, [&](usize at, const Sizes& index) {
      f64 v[3] = {};
      for (usize s = 0; s < srcs.size(); ++s) {
        Sizes from(index.end() - static_cast<i64>(srcs[s].shape.size()), index.end());
        for (usize i = 0; i < from.size(); ++i) {
          if (srcs[s].shape[i] == 1) from[i] = 0;
        }
        v[s] = srcs[s].values[flat(from, srcs[s].shape)];
      }
      result.values[at] = rounded(scalar(node.op(), v[0], v[1], v[2]), node.dtype());
    });
    return result;
  }

  Tensor reduced(UOp node, const Sizes& shape, const Tensor& src) {
    Op op = node.reduce_op();
    f64 start = op == Op::Add ? 0 : op == Op::Mul ? 1 : -INFINITY;
    if (op == Op::Max && !node.dtype().is_float()) start = INT32_MIN;
    Tensor result{shape, Values(static_cast<usize>(count_of(shape)), start)};
    for_each(src.shape, [&](usize at, const Sizes& index) {
      Sizes to = index;
      for (usize i = 0; i < to.size(); ++i) {
        if (node.arg(1) >> i & 1) to[i] = 0;
      }
      f64& v = result.values[flat(to, shape)];
      v = scalar(op, v, src.values[at], 0);
    });
    for (f64& v : result.values) v = rounded(v, node.dtype());
    return result;
  }

  Tensor moved(UOp node, const Sizes& shape, const Tensor& src) {
    Tensor result{shape, Values(static_cast<usize>(count_of(shape)), 0)};
    usize rank = src.shape.size();
    for_each(shape, [&](usize at, const Sizes& index) {
      Sizes from(rank);
      bool inside = true;
      for (usize i = 0; i < rank; ++i) {
        switch (node.op()) {
          case Op::Permute: from[static_cast<usize>(node.arg(i))] = index[i]; continue;
          case Op::Expand: from[i] = src.shape[i] == 1 ? 0 : index[i + shape.size() - rank]; break;
          case Op::Pad: from[i] = index[i] - arg(node, 2 * i); break;
          case Op::Shrink: from[i] = index[i] + arg(node, 2 * i); break;
          case Op::Flip: from[i] = node.arg(0) >> i & 1 ? shape[i] - 1 - index[i] : index[i]; break;
          default: UNREACHABLE("{}", name_of(node.op()));
        }
        inside = inside && from[i] >= 0 && from[i] < src.shape[i];
      }
      if (inside) result.values[at] = src.values[flat(from, src.shape)];
    });
    return result;
  }

  const std::map<i64, i64>& variables_;
  std::unordered_map<const Node*, Tensor> done_;
};

}  // namespace

Values input_values(UOp buffer) {
  Values values;
  i64 count = count_of(shape_of(buffer)), seed = buffer.arg(0);
  for (i64 i = 0; i < count; ++i) {
    i64 v = (i * 7 + seed * 13 + i * i % 5) % 23 - 11;
    values.push_back(buffer.dtype().is_bool() ? static_cast<f64>(v > 0) : static_cast<f64>(v));
  }
  return values;
}

Values reference(UOp root, const std::map<i64, i64>& variables) {
  return Reference(variables).value(root).values;
}

// ---- running

namespace {

template <class T>
void put(std::byte* to, f64 value) {
  T t = static_cast<T>(value);
  std::memcpy(to, &t, sizeof(T));
}
template <class T>
f64 get(const std::byte* from) {
  T t;
  std::memcpy(&t, from, sizeof(T));
  return static_cast<f64>(t);
}

void put_value(DType dtype, std::byte* to, f64 value) {
  switch (dtype.scalar) {
    case Scalar::F32: return put<f32>(to, value);
    case Scalar::I32: return put<i32>(to, value);
    case Scalar::I64: return put<i64>(to, value);
    case Scalar::Bool: return put<u8>(to, value);
    default: UNREACHABLE("dtype {}", dtype.str());
  }
}
f64 get_value(DType dtype, const std::byte* from) {
  switch (dtype.scalar) {
    case Scalar::F32: return get<f32>(from);
    case Scalar::I32: return get<i32>(from);
    case Scalar::I64: return get<i64>(from);
    case Scalar::Bool: return get<u8>(from);
    default: UNREACHABLE("dtype {}", dtype.str());
  }
}

}  // namespace

std::vector<Values> run(const Schedule& schedule, const GraphKey& key) {
  std::vector<std::vector<std::byte>> memory;
  for (const ScheduleBuffer& b : schedule.buffers) {
    usize size = static_cast<usize>(b.dtype.bytes());
    memory.emplace_back(static_cast<usize>(b.count) * size, std::byte{0x5a});
    if (b.kind != ScheduleBuffer::Kind::Input) continue;
    Values values = input_values(key.inputs[b.index]);
    for (usize i = 0; i < values.size(); ++i) {
      put_value(b.dtype, memory.back().data() + i * size, values[i]);
    }
  }
  for (const ScheduleItem& item : schedule.items) {
    if (item.kind == ScheduleItem::Kind::Copy) {
      memory[item.buffers[0]] = memory[item.buffers[1]];
      continue;
    }
    std::vector<void*> params;
    for (u32 b : item.buffers) params.push_back(memory[b].data());
    std::vector<i64> variables;
    for (i64 name : item.ast->variables) {
      for (const BoundVariable& v : key.variables) {
        if (v.name == name) variables.push_back(v.value);
      }
    }
    interpret(*item.ast, params, variables);
  }
  std::vector<Values> results;
  for (u32 buffer : schedule.results) {
    const ScheduleBuffer& b = schedule.buffers[buffer];
    EXPECT_EQ(b.kind, ScheduleBuffer::Kind::Output);
    results.emplace_back();
    for (i64 e = 0; e < b.count; ++e) {
      results.back().push_back(get_value(b.dtype, memory[buffer].data() + e * b.dtype.bytes()));
    }
  }
  return results;
}

Scheduled schedule_and_run(std::span<const UOpRef> roots, const ScheduleOptions& options) {
  std::vector<UOp> nodes;
  for (const UOpRef& r : roots) nodes.push_back(*r);
  GraphKey key;
  key.walk(nodes, true);
  Scheduled result;
  result.schedule = make_schedule(key, nodes, options);
  for (const ScheduleItem& item : result.schedule.items) {
    ++(item.kind == ScheduleItem::Kind::Kernel ? result.kernels : result.copies);
  }
  result.outputs = run(result.schedule, key);
  return result;
}

usize kernel_count(std::initializer_list<UOpRef> roots, const ScheduleOptions& options) {
  std::vector<UOp> nodes;
  for (const UOpRef& r : roots) nodes.push_back(*r);
  Schedule schedule = make_schedule(nodes, options);
  return static_cast<usize>(std::ranges::count_if(schedule.items, [](const ScheduleItem& item) {
    return item.kind == ScheduleItem::Kind::Kernel;
  }));
}

void expect_equal(const Values& got, const Values& want, f64 tolerance) {
  ASSERT_EQ(got.size(), want.size());
  f64 scale = 1;
  for (f64 v : want) scale = std::max(scale, std::isfinite(v) ? std::abs(v) : 0);
  for (usize i = 0; i < got.size(); ++i) {
    bool same = got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i])) ||
                std::abs(got[i] - want[i]) <= tolerance * scale;
    ASSERT_TRUE(same) << "element " << i << ": " << got[i] << ", expected " << want[i];
  }
}

}  // namespace doorbell::core::test
