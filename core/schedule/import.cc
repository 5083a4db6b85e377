// Import, node by node; split_reduce.cc has the one rewrite that makes more nodes than it finds.
#include "core/schedule/import.h"

#include <array>
#include <limits>

#include "base/util/check.h"
#include "core/uop/graph.h"
#include "core/uop/placement.h"

namespace doorbell::core {

UOp reduce_identity(Arena& arena, Op op, DType dtype) {
  switch (op) {
    case Op::Add:
    case Op::Or:
    case Op::Xor: return arena.const_of(dtype, 0);
    case Op::Mul: return arena.const_of(dtype, 1);
    case Op::And: return arena.const_of(dtype, dtype.is_bool() ? 1 : -1);
    case Op::Max: break;
    default: UNREACHABLE("{} does not reduce", name_of(op));
  }
  if (dtype.is_float()) return arena.const_float(dtype, -std::numeric_limits<f64>::infinity());
  if (dtype.is_bool() || dtype.is_unsigned()) return arena.const_int(dtype, 0);
  return arena.const_int(dtype, std::numeric_limits<i64>::min() >> (64 - dtype.bits()));
}

void Importer::run(const GraphKey& key, std::span<const UOp> roots) {
  places_.assign(key.order.size(), {});
  places_by_node_.reserve(key.order.size());
  graph_.nodes.reserve(key.order.size());
  for (usize i = 0; i < key.order.size(); ++i) {
    const WalkNode& entry = key.order[i];
    places_by_node_.try_emplace(entry.node.node(), static_cast<u32>(i));
    if (entry.input >= 0) {
      // The Buffer's device: a value without a device was realised on one.
      const u16 device = key.inputs[static_cast<usize>(entry.input)].device();
      LazyId id = add(Op::Buffer, entry.node.dtype(), device, shape_of(entry.node), {});
      graph_.nodes[id].input = entry.input;
      places_[i].id = id;
    } else if (UOp expr = import_expr(entry.node)) {
      places_[i].expr = expr;
    } else {
      places_[i].id = import_node(entry.node);
    }
  }
  for (UOp root : roots) {
    LazyId id = import_root(data(root), root.device());
    if (graph_.nodes[id].output < 0) {
      graph_.nodes[id].output = static_cast<i32>(graph_.roots.size());
    }
    graph_.roots.push_back(id);
  }
}

LazyId Importer::data(Place& place, UOp node) {
  if (place.id == kNoNode) {
    CHECK(place.expr, "{} was imported as nothing", name_of(node.op()));
    place.id = add_const(place.expr, graph_.tuples.intern({}));
  }
  return place.id;
}

UOp Importer::size(Dim dim) {
  if (dim.is_const()) return arena_.index(dim.value());
  UOp expr = place_of(dim.expr()).expr;
  CHECK(expr, "a size is data");
  return expr;
}

UOp Importer::size_arg(UOp node, i64 arg) {
  return is_dynamic_dim(arg) ? size(Dim(node.src(1 + dynamic_dim_index(arg)))) : arena_.index(arg);
}

u32 Importer::shape_of(UOp node) {
  std::array<UOp, kMaxRank> sizes;
  for (usize i = 0; i < node.ndim(); ++i) sizes[i] = size(node.dim(i));
  return graph_.tuples.intern({sizes.data(), node.ndim()});
}

LazyId Importer::add(Op op, DType dtype, u16 device, u32 shape,
                     std::initializer_list<LazyId> srcs) {
  LazyNode node;
  node.op = op;
  node.dtype = dtype;
  node.device = device;
  // A value without a device may be made of values that were realised on one.
  for (LazyId src : srcs)
    if (node.device == 0) node.device = graph_[src].device;
  node.shape = shape;
  node.rank = static_cast<u8>(graph_.tuples[shape].size());
  node.nsrc = static_cast<u16>(srcs.size());
  node.first_src = static_cast<u32>(graph_.srcs.size());
  graph_.srcs.insert(graph_.srcs.end(), srcs);
  graph_.nodes.push_back(node);
  return graph_.size() - 1;
}

LazyId Importer::add_const(UOp value, u32 shape) {
  LazyId id = add(Op::Const, value.dtype(), 0, shape, {});
  graph_.nodes[id].value = value;
  return id;
}

LazyId Importer::add_reshape(LazyId src, u32 shape) {
  if (graph_[src].shape == shape) return src;
  return add(Op::Reshape, graph_[src].dtype, graph_[src].device, shape, {src});
}

LazyId Importer::add_reduce(LazyId src, Op op, u32 axes) {
  std::array<UOp, kMaxRank> sizes;
  usize rank = graph_[src].rank;
  for (usize i = 0; i < rank; ++i)
    sizes[i] = axes >> i & 1 ? arena_.index(1) : graph_.shape(src)[i];
  u32 shape = graph_.tuples.intern({sizes.data(), rank});
  LazyId id = add(Op::Reduce, graph_[src].dtype, graph_[src].device, shape, {src});
  graph_.nodes[id].reduce_op = op;
  graph_.nodes[id].first_arg = static_cast<u32>(graph_.numbers.size());
  graph_.numbers.push_back(axes);
  return id;
}

bool Importer::is_empty(u32 shape) const {
  for (UOp size : graph_.tuples[shape]) {
    if (size.is_const(0)) return true;
  }
  return false;
}

LazyId Importer::force(LazyId id) {
  while (graph_[id].op == Op::Reshape) id = graph_.src(id);
  if (!graph_.is_leaf(id)) graph_.nodes[id].forced = true;
  return id;
}

// Scalars made of constants and Variables: they may be sizes, so they become expressions.
UOp Importer::import_expr(UOp node) {
  if (node.ndim() > 0) return UOp();
  switch (node.op()) {
    case Op::Const: return arena_.make(Op::Const, node.dtype(), {}, node.args());
    case Op::Variable: return arena_.make(Op::Variable, node.dtype(), {}, node.args());
    case Op::Bind: return arena_.make(Op::Variable, node.dtype(), {}, node.src(0).args());
    default: break;
  }
  if (!is_elementwise(node.op()) || !(node.dtype().is_index() || node.dtype().is_bool())) return {};
  std::array<UOp, 3> srcs;
  for (usize i = 0; i < node.nsrc(); ++i) {
    srcs[i] = place_of(node.src(i)).expr;
    if (!srcs[i] || !(srcs[i].dtype().is_index() || srcs[i].dtype().is_bool())) return UOp();
  }
  return rewriter_.make(node.op(), node.dtype(), {srcs.data(), node.nsrc()});
}

LazyId Importer::import_node(UOp node) {
  u32 shape = shape_of(node);
  if (is_empty(shape)) return add_const(arena_.const_of(node.dtype(), 0), shape);
  if (is_elementwise(node.op())) {
    LazyId srcs[3];
    u16 device = node.device();
    for (usize i = 0; i < node.nsrc(); ++i) {
      srcs[i] = data(node.src(i));
      if (device == 0) device = graph_[srcs[i]].device;
    }
    for (usize i = 0; i < node.nsrc(); ++i) srcs[i] = on_device(srcs[i], device);
    switch (node.nsrc()) {
      case 1: return add(node.op(), node.dtype(), node.device(), shape, {srcs[0]});
      case 2: return add(node.op(), node.dtype(), node.device(), shape, {srcs[0], srcs[1]});
      default:
        return add(node.op(), node.dtype(), node.device(), shape, {srcs[0], srcs[1], srcs[2]});
    }
  }
  switch (node.op()) {
    case Op::Reduce: return import_reduce(node, data(node.src(0)));
    case Op::Copy:
      if (is_exchange(node)) return import_exchange(node);
      return placed_on(data(node.src(0)), node.device());
    case Op::Detach:
    case Op::CustomGradient: return data(node.src(0));
    case Op::Contiguous: {
      LazyId id = data(node.src(0));
      force(id);
      return id;
    }
    case Op::Assign: {
      LazyId id = placed_on(data(node.src(1)), node.device());
      force(id);
      return id;
    }
    default:
      CHECK(is_movement(node.op()), "{} in a tensor graph", name_of(node.op()));
      return import_move(node, data(node.src(0)));
  }
}

LazyId Importer::import_move(UOp node, LazyId src) {
  u32 shape = shape_of(node);
  bool same_shape = graph_[src].shape == shape;
  Op op = node.op();
  if (same_shape && (op == Op::Reshape || op == Op::Expand || op == Op::Pad)) return src;
  LazyId id = add(op, node.dtype(), node.device(), shape, {src});
  LazyNode& lazy = graph_.nodes[id];
  if (op == Op::Permute || op == Op::Flip) {
    lazy.first_arg = static_cast<u32>(graph_.numbers.size());
    graph_.numbers.insert(graph_.numbers.end(), node.args().begin(), node.args().end());
  } else if (op == Op::Pad || op == Op::Shrink) {
    lazy.first_arg = static_cast<u32>(graph_.offsets.size());
    for (usize i = 0; i < lazy.rank; ++i) {
      graph_.offsets.push_back(size_arg(node, node.arg(2 * i)));
    }
  }
  return id;
}

LazyId Importer::import_reduce(UOp node, LazyId src) {
  Op op = node.reduce_op();
  CHECK_EQ(node.dtype(), graph_[src].dtype);
  if (is_empty(graph_[src].shape)) {
    return add_const(reduce_identity(arena_, op, node.dtype()), shape_of(node));
  }
  u32 axes = 0;
  for (usize i = 0; i < graph_[src].rank; ++i) {
    if (node.arg(1) >> i & 1 && !graph_.shape(src)[i].is_const(1)) axes |= u32{1} << i;
  }
  if (axes == 0) return src;
  LazyId split = options_.split_reduce ? split_reduce(src, op, axes) : kNoNode;
  if (split == kNoNode && options_.depth_parts) split = split_product(src, op, axes);
  return split != kNoNode ? split : add_reduce(src, op, axes);
}

// Copies the value if it is on another device; a value without a device can be computed anywhere.
LazyId Importer::on_device(LazyId src, u16 device) {
  const u16 from = graph_[src].device;
  if (from == 0 || device == 0 || from == device) return src;
  LazyId base = force(src);
  graph_.nodes[base].exposed = true;
  LazyId copy = add(Op::Copy, graph_[src].dtype, device, graph_[base].shape, {base});
  graph_.nodes[copy].forced = true;
  return add_reshape(copy, graph_[src].shape);
}

// The same for a consumer that needs the value on that device only: a value without a device is
// computed there and stays there.
LazyId Importer::placed_on(LazyId src, u16 device) {
  if (graph_[src].device != 0 || device == 0) return on_device(src, device);
  return add(Op::Contiguous, graph_[src].dtype, device, graph_[src].shape, {src});
}

LazyId Importer::import_exchange(UOp node) {
  const LazyId base = force(placed_on(data(node.src(0)), node.device()));
  graph_.nodes[base].exposed = true;
  const LazyId id = add(Op::Copy, node.dtype(), node.device(), shape_of(node), {base});
  LazyNode& lazy = graph_.nodes[id];
  lazy.forced = lazy.is_exchange = true;
  lazy.first_arg = static_cast<u32>(graph_.numbers.size());
  graph_.numbers.insert(graph_.numbers.end(), node.args().begin() + 1,
                        node.args().begin() + kExchangeArgs);
  return id;
}

// A root that is a view of another shares its memory.
LazyId Importer::import_root(LazyId id, u16 device) {
  LazyId base = id;
  while (graph_[base].op == Op::Reshape) base = graph_.src(base);
  if (!graph_.is_leaf(base)) {
    graph_.nodes[base].forced = graph_.nodes[base].exposed = true;
    return base;
  }
  // A value without memory of its own is stored.
  LazyId copy = add(Op::Contiguous, graph_[id].dtype, device, graph_[id].shape, {id});
  graph_.nodes[copy].forced = graph_.nodes[copy].exposed = true;
  return copy;
}

}  // namespace doorbell::core
