// The movement ops as copies of elements, reductions as loops.
#include "conformance/graph_oracle.h"

#include <absl/container/flat_hash_map.h>

#include "base/util/check.h"
#include "core/device/buffer.h"
#include "core/device/device.h"
#include "core/uop/layout.h"

namespace doorbell::conformance {

using core::Op;
using core::ScalarValue;
using core::UOp;

namespace {

using Values = std::vector<ScalarValue>;
using Sizes = std::vector<i64>;

struct Oracle {
  absl::flat_hash_map<const core::Node*, Values> done;

  i64 integer(UOp node) { return done.at(node.node())[0].as_int(); }
  i64 size(UOp node, i64 arg) {
    return core::is_dynamic_dim(arg) ? integer(node.src(1 + core::dynamic_dim_index(arg))) : arg;
  }
  Sizes shape(UOp node);
  Values evaluate(UOp node);
  Values elementwise(UOp node);
  Values move(UOp node);
  Values reduce(UOp node);
  Values join(UOp node);
};

i64 product(const Sizes& sizes) {
  i64 total = 1;
  for (i64 size : sizes) total *= size;
  return total;
}

Sizes unflatten(i64 flat, const Sizes& sizes) {
  Sizes at(sizes.size());
  for (usize i = sizes.size(); i-- > 0;) {
    at[i] = flat % sizes[i];
    flat /= sizes[i];
  }
  return at;
}

i64 flatten(const Sizes& at, const Sizes& sizes) {
  i64 flat = 0;
  for (usize i = 0; i < sizes.size(); ++i) flat = flat * sizes[i] + at[i];
  return flat;
}

// The index in a source that broadcasts to an output index.
i64 broadcast_place(const Sizes& at, const Sizes& source) {
  Sizes inner(at.end() - static_cast<i64>(source.size()), at.end());
  for (usize i = 0; i < source.size(); ++i) {
    if (source[i] == 1) inner[i] = 0;
  }
  return flatten(inner, source);
}

Sizes Oracle::shape(UOp node) {
  Sizes sizes;
  for (usize i = 0; i < node.ndim(); ++i) {
    const core::Dim dim = node.dim(i);
    if (!dim.is_const() && !done.contains(dim.expr().node())) {
      done[dim.expr().node()] = evaluate_tensor_graph(dim.expr());
    }
    sizes.push_back(dim.is_const() ? dim.value() : integer(dim.expr()));
  }
  return sizes;
}

Values Oracle::elementwise(UOp node) {
  const Sizes sizes = shape(node);
  std::vector<Sizes> sources;
  for (UOp src : node.srcs()) sources.push_back(shape(src));
  Values result;
  for (i64 i = 0; i < product(sizes); ++i) {
    const Sizes at = unflatten(i, sizes);
    Values args;
    for (usize s = 0; s < node.nsrc(); ++s) {
      const i64 place = broadcast_place(at, sources[s]);
      args.push_back(done.at(node.src(s).node())[static_cast<usize>(place)]);
    }
    result.push_back(core::eval(node.op(), node.dtype(), args).value());
  }
  return result;
}

Values Oracle::move(UOp node) {
  const Values& from = done.at(node.src(0).node());
  if (node.is(Op::Reshape)) return from;
  const Sizes in = shape(node.src(0)), out = shape(node);
  const Values zero{ScalarValue::of_int(node.dtype(), 0)};
  Values result;
  for (i64 i = 0; i < product(out); ++i) {
    Sizes at = unflatten(i, out), source = at;
    bool inside = true;
    for (usize axis = 0; axis < at.size(); ++axis) {
      if (node.is(Op::Permute)) source[static_cast<usize>(node.arg(axis))] = at[axis];
      if (node.is(Op::Shrink)) source[axis] = at[axis] + size(node, node.arg(2 * axis));
      if (node.is(Op::Flip) && (node.arg(0) >> axis & 1)) source[axis] = in[axis] - 1 - at[axis];
      if (node.is(Op::Pad)) {
        source[axis] = at[axis] - size(node, node.arg(2 * axis));
        inside = inside && source[axis] >= 0 && source[axis] < in[axis];
      }
    }
    if (!inside) {
      result.push_back(node.dtype().is_float() ? ScalarValue::of_float(node.dtype(), 0) : zero[0]);
      continue;
    }
    const i64 place = node.is(Op::Expand) ? broadcast_place(at, in) : flatten(source, in);
    result.push_back(from[static_cast<usize>(place)]);
  }
  return result;
}

Values Oracle::reduce(UOp node) {
  const Values& from = done.at(node.src(0).node());
  const Sizes in = shape(node.src(0)), out = shape(node);
  Values result(static_cast<usize>(product(out)),
                core::reduce_identity(node.reduce_op(), node.dtype()));
  for (i64 i = 0; i < product(in); ++i) {
    ScalarValue& total = result[static_cast<usize>(broadcast_place(unflatten(i, in), out))];
    const ScalarValue args[] = {total, from[static_cast<usize>(i)]};
    total = core::eval(node.reduce_op(), node.dtype(), args).value();
  }
  return result;
}

// Of parts, or of copies.
Values Oracle::join(UOp node) {
  const Sizes whole = shape(node), part = shape(node.src(0));
  const core::MeshAxes axes = core::mesh_axes_of(node.arg(0), node.nsrc());
  Values values(static_cast<usize>(product(whole)));
  for (usize p = 0; p < node.nsrc(); ++p) {
    const core::PartWindow window = core::window_of_part(whole, axes, static_cast<i64>(p));
    const Values& own = done.at(node.src(p).node());
    for (i64 i = 0; i < product(part); ++i) {
      Sizes at = unflatten(i, part);
      for (usize k = 0; k < at.size(); ++k) at[k] += window.first[k];
      values[static_cast<usize>(flatten(at, whole))] = own[static_cast<usize>(i)];
    }
  }
  return values;
}

Values Oracle::evaluate(UOp node) {
  if (core::is_elementwise(node.op())) return elementwise(node);
  if (core::is_movement(node.op())) return move(node);
  switch (node.op()) {
    case Op::Const: return {ScalarValue{node.dtype().scalar, node.arg(0)}};
    case Op::Variable: return {ScalarValue::index(0)};
    case Op::Reduce: return reduce(node);
    case Op::Contiguous:
    case Op::Detach:
    case Op::CustomGradient:
    case Op::Copy:
    case Op::Shard: return done.at(node.src(0).node());
    case Op::Assign:
    case Op::Bind: return done.at(node.src(1).node());
    case Op::Multi: return join(node);
    case Op::Buffer: {
      const auto* buffer = static_cast<const core::Buffer*>(node.payload());
      std::vector<std::byte> bytes(static_cast<usize>(product(shape(node)) * node.dtype().bytes()));
      Result<void> ready = buffer->device().synchronize();
      if (ready) ready = buffer->copy_out(bytes.data(), static_cast<i64>(bytes.size()));
      if (!ready) throw std::move(ready).error();
      Values values;
      for (i64 i = 0; i < product(shape(node)); ++i) {
        values.push_back(core::load_scalar(node.dtype(), bytes.data() + i * node.dtype().bytes()));
      }
      return values;
    }
    default: UNREACHABLE("{} in a tensor graph", core::name_of(node.op()));
  }
}

}  // namespace

std::vector<ScalarValue> evaluate_tensor_graph(UOp root) {
  Oracle oracle;
  std::vector<UOp> stack{root};
  while (!stack.empty()) {
    const UOp node = stack.back();
    bool ready = true;
    for (UOp src : node.srcs()) {
      // The target of an assignment may never have been written; its old value is not needed.
      if (node.is(Op::Assign) && src == node.src(0) && src != node.src(1)) continue;
      if (!oracle.done.contains(src.node())) {
        stack.push_back(src);
        ready = false;
      }
    }
    if (!ready) continue;
    stack.pop_back();
    if (oracle.done.contains(node.node())) continue;
    Values values = oracle.evaluate(node);
    oracle.done[node.node()] = std::move(values);
  }
  return oracle.done.at(root.node());
}

}  // namespace doorbell::conformance
