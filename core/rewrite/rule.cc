// Domains, the printed form of patterns, and the compilation of tables.
#include "core/rewrite/rule.h"

#include <fmt/format.h>

#include "base/util/check.h"

namespace doorbell::core {
namespace {

std::string operator_of(Op op) {
  switch (op) {
    case Op::Add: return "+";
    case Op::Sub: return "-";
    case Op::Mul: return "*";
    case Op::FloorDiv: return "/";
    case Op::FloorMod: return "%";
    case Op::CmpLt: return "<";
    case Op::And: return "&";
    case Op::Or: return "|";
    case Op::Xor: return "^";
    case Op::Shl: return "<<";
    case Op::Shr: return ">>";
    default: return "";
  }
}

// As deep as a pattern, which has at most kMaxCells cells.
std::string print_cell(const pat::Pattern& p, u8 at, bool root) {
  const pat::Cell& cell = p.cells[at];
  switch (cell.kind) {
    case pat::Cell::Kind::Name: return std::string(1, "xyzw"[cell.name]);
    case pat::Cell::Kind::Constant: return fmt::format("c{}", cell.name);
    case pat::Cell::Kind::Literal:
      return cell.real ? fmt::format("{}", std::bit_cast<f64>(cell.bits))
                       : fmt::format("{}", cell.bits);
    case pat::Cell::Kind::Node: break;
  }
  std::string infix = operator_of(cell.op);
  if (!infix.empty()) {
    std::string text = fmt::format("{} {} {}", print_cell(p, cell.srcs[0], false), infix,
                                   print_cell(p, cell.srcs[1], false));
    return root ? text : "(" + text + ")";
  }
  std::string text = fmt::format("{}(", name_of(cell.op));
  for (u8 i = 0; i < cell.nsrc; ++i) text += (i ? ", " : "") + print_cell(p, cell.srcs[i], true);
  return text + ")";
}

u64 needed_sources(const Rule& rule) {
  if (rule.code) return 0;
  u64 needs = 0;
  const pat::Cell& root = rule.left.root();
  for (u8 i = 0; i < root.nsrc; ++i) {
    const pat::Cell& cell = rule.left.cells[root.srcs[i]];
    if (cell.kind == pat::Cell::Kind::Node) needs |= RuleSet::source_bit(cell.op);
    if (cell.kind == pat::Cell::Kind::Constant || cell.kind == pat::Cell::Kind::Literal)
      needs |= RuleSet::source_bit(Op::Const);
  }
  return needs;
}

}  // namespace

namespace pat {
std::string to_string(const Pattern& pattern) {
  return pattern.count ? print_cell(pattern, static_cast<u8>(pattern.count - 1), true) : "";
}
}  // namespace pat

std::string_view name_of(Domain domain) {
  static constexpr std::string_view kNames[] = {"index", "int", "float", "bool", "other", "any"};
  return kNames[static_cast<usize>(domain)];
}

Domain domain_of(UOp node) {
  DType t = is_comparison(node.op()) ? node.src(0).dtype() : node.dtype();
  if (t.is_index()) return Domain::Index;
  if (t.is_float()) return Domain::Float;
  if (t.is_bool()) return Domain::Bool;
  return t.is_int() ? Domain::Int : Domain::Other;
}

RuleSet::RuleSet(std::span<const RuleTable* const> tables) : tables_(tables.begin(), tables.end()) {
  for (const RuleTable* table : tables) {
    for (const Rule& rule : table->rules) {
      u64 needs = needed_sources(rule);
      for (usize domain = 0; domain < entries_.size(); ++domain) {
        if (table->domain != Domain::Any && table->domain != static_cast<Domain>(domain)) continue;
        for (usize op = 0; op < kOpCount; ++op) {
          bool applies = rule.any_elementwise ? is_elementwise(static_cast<Op>(op))
                                              : rule.root == static_cast<Op>(op);
          if (applies) entries_[domain][op].push_back({needs, &rule});
        }
      }
    }
  }
}

}  // namespace doorbell::core
