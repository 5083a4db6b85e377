// Printing and parsing the text form of graphs.
#include "core/uop/print.h"

#include <absl/container/flat_hash_map.h>

#include <charconv>
#include <limits>

#include "base/util/check.h"
#include "base/util/format.h"

namespace doorbell::core {

namespace {

std::string const_text(UOp u) {
  if (!u.dtype().is_float()) return std::to_string(u.const_int());
  std::string text = fmt::format("{}", u.const_float());  // shortest form that reads back the same
  return text;
}

std::string arg_text(UOp u, usize i) {
  if (u.is(Op::Range) && i == 1) return std::string(name_of(u.axis_type()));
  if (u.is(Op::Reduce) && i == 0) return std::string(name_of(u.reduce_op()));
  if (u.is(Op::Variable) && i == 0) return '"' + std::string(interned_name(u.arg(0))) + '"';
  i64 arg = u.arg(i);
  if (is_movement(u.op()) && is_dynamic_dim(arg)) {
    return fmt::format("src{}", 1 + dynamic_dim_index(arg));
  }
  return std::to_string(arg);
}

std::string line_of(UOp u, usize number, const absl::flat_hash_map<const Node*, usize>& numbers) {
  std::string text = fmt::format("%{} = {}:{}", number, name_of(u.op()), u.dtype().str());
  if (u.nsrc() > 0) {
    text += '(';
    for (usize i = 0; i < u.nsrc(); ++i) {
      auto it = numbers.find(u.src(i).node());
      text += fmt::format("{}%{}", i ? ", " : "",
                          it == numbers.end() ? std::string("?") : std::to_string(it->second));
    }
    text += ')';
  }
  if (u.is(Op::Const)) return text + ' ' + const_text(u) + '\n';
  if (u.narg() > 0) {
    text += " {";
    for (usize i = 0; i < u.narg(); ++i) text += (i ? ", " : "") + arg_text(u, i);
    text += '}';
  }
  return text + '\n';
}

// A cursor over one line. Every helper returns false where the text is not of the form.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}
  bool take(std::string_view literal) {
    if (!rest_.starts_with(literal)) return false;
    rest_.remove_prefix(literal.size());
    return true;
  }
  template <class T>
  bool number(T* out) {
    auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), *out);
    if (error != std::errc()) return false;
    rest_.remove_prefix(static_cast<usize>(end - rest_.data()));
    return true;
  }
  // The longest prefix without any character of `stops`.
  std::string_view until(std::string_view stops) {
    usize n = std::min(rest_.find_first_of(stops), rest_.size());
    std::string_view word = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return word;
  }
  bool done() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

bool parse_op(std::string_view name, Op* out) {
  for (usize i = 0; i < kOpCount; ++i) {
    if (name_of(static_cast<Op>(i)) != name) continue;
    *out = static_cast<Op>(i);
    return true;
  }
  return false;
}

bool parse_axis_type(std::string_view name, i64* out) {
  for (i64 i = 0; i <= static_cast<i64>(AxisType::Vector); ++i) {
    if (name_of(static_cast<AxisType>(i)) != name) continue;
    *out = i;
    return true;
  }
  return false;
}

struct Line {
  Op op;
  DType dtype;
  std::vector<UOp> srcs;
  std::vector<i64> args;
};

bool parse_word_arg(Cursor& at, Op op, i64* out) {
  if (at.take("\"")) {
    std::string_view name = at.until("\"");
    *out = intern_name(name);
    return at.take("\"");
  }
  if (is_movement(op) && at.take("src")) {
    i64 k = 0;
    if (!at.number(&k) || k < 1 || k > 63) return false;
    *out = kDynamicDim + k - 1;
    return true;
  }
  std::string_view word = at.until(",}");
  if (op == Op::Range) return parse_axis_type(word, out);
  Op reduce;
  if (op != Op::Reduce || !parse_op(word, &reduce)) return false;
  *out = static_cast<i64>(reduce);
  return true;
}

bool parse_const(Cursor& at, Line* line) {
  i64 bits = 0;
  if (line->dtype.is_float()) {
    f64 value = 0;
    if (!at.number(&value)) return false;
    bits = std::bit_cast<i64>(value);
  } else if (!at.number(&bits)) {
    return false;
  }
  line->args.push_back(bits);
  return true;
}

bool parse_line(std::string_view text, std::span<const UOp> nodes, Line* line) {
  Cursor at(text);
  usize number = 0;
  if (!at.take("%") || !at.number(&number) || number != nodes.size() || !at.take(" = "))
    return false;
  if (!parse_op(at.until(":"), &line->op) || !at.take(":")) return false;
  if (!parse_dtype(at.until("( "), &line->dtype)) return false;
  if (at.take("(")) {
    do {
      usize source = 0;
      if (!at.take("%") || !at.number(&source) || source >= nodes.size()) return false;
      line->srcs.push_back(nodes[source]);
    } while (at.take(", "));
    if (!at.take(")")) return false;
  }
  if (line->op == Op::Const) return at.take(" ") && parse_const(at, line) && at.done();
  if (at.take(" {")) {
    do {
      i64 arg = 0;
      if (!at.number(&arg) && !parse_word_arg(at, line->op, &arg)) return false;
      line->args.push_back(arg);
    } while (at.take(", "));
    if (!at.take("}")) return false;
  }
  return at.done();
}

// Checks what init_node and compute_bounds rely on, so that malformed text cannot make them read
// out of bounds.
bool well_formed(const Line& line) {
  usize nsrc = line.srcs.size(), narg = line.args.size();
  switch (group_of(line.op)) {
    case OpGroup::Unary: return nsrc == 1;
    case OpGroup::Binary: return nsrc == 2;
    case OpGroup::Ternary: return nsrc == 3;
    default: break;
  }
  switch (line.op) {
    case Op::Variable:
    case Op::Special: return nsrc == 0 && narg == 3;
    case Op::Range: return nsrc == 1 && narg == 2 && line.args[1] >= 0 && line.args[1] <= 8;
    case Op::Bind: return nsrc == 2;
    case Op::Shard: return nsrc == 1 && narg >= 1;
    case Op::Multi: return nsrc >= 1 && narg == 1;
    case Op::Reduce: return nsrc >= 1 && narg >= 1;
    case Op::Ramp:
    case Op::Lane: return nsrc >= 1 && narg >= 1;
    case Op::Splat:
    case Op::Vec:
    case Op::Index:
    case Op::Load:
    case Op::End:
    case Op::Store:
    case Op::After: return nsrc >= 1;
    default: return !is_movement(line.op) || nsrc >= 1;
  }
}

}  // namespace

std::string print_ops(std::span<const UOp> order) {
  absl::flat_hash_map<const Node*, usize> numbers;
  std::string text;
  for (UOp u : order) {
    usize number = numbers.size();
    text += line_of(u, number, numbers);
    numbers.emplace(u.node(), number);
  }
  return text;
}

std::string print(Arena& arena, UOp root) {
  return print_ops(topological_order(arena, {&root, 1}));
}

std::string print_tensor_graph(UOp root) {
  absl::flat_hash_map<const Node*, bool> seen;
  std::vector<UOp> order;
  std::vector<std::pair<UOp, usize>> stack{{root, 0}};
  seen[root.node()] = true;
  while (!stack.empty()) {
    auto& [node, next] = stack.back();
    if (next == node.nsrc()) {
      order.push_back(node);
      stack.pop_back();
      continue;
    }
    UOp s = node.src(next++);
    if (seen.emplace(s.node(), true).second) stack.push_back({s, 0});
  }
  return print_ops(order);
}

Result<UOp> parse(Arena& arena, std::string_view text) {
  std::vector<UOp> nodes;
  usize line_number = 0;
  while (!text.empty()) {
    ++line_number;
    usize length = std::min(text.find('\n'), text.size());
    std::string_view line_text = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    if (line_text.empty()) continue;
    Line line{};
    if (!parse_line(line_text, nodes, &line) || !well_formed(line)) {
      return fail(ErrorKind::Corrupt, "line {} is not a node: {}", line_number, line_text);
    }
    nodes.push_back(arena.make(line.op, line.dtype, line.srcs, line.args));
  }
  if (nodes.empty()) return fail(ErrorKind::Corrupt, "no nodes in {} lines", line_number);
  return nodes.back();
}

}  // namespace doorbell::core
