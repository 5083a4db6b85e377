// The notation of rewrite rules: patterns as plain constexpr values that read like the algebra.
// They can be printed, counted, indexed by root op and fuzzed. For rules see rule.h, for
// matching match.h.
//
//   x * c0 + x * c1        names x, y, z, w match anything; equal names match the same node;
//                          c0 .. c3 match a Const (or a Splat of one)
//   fold(c0 + c1)          right side only: a Const computed by eval in the constants' dtype; where
//                          that has no value (Index overflow) the rule does not fire
//   0, 1.0                 literals, of the dtype that the place asks for
//
// Operators: + - * / (FloorDiv) % (FloorMod) < & | ^ << >> and unary -; the rest by name.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <string>

#include "core/uop/op.h"

namespace doorbell::core {

namespace pat {

struct Cell {
  enum class Kind : u8 { Name, Constant, Literal, Node };
  Kind kind = Kind::Literal;
  Op op = Op::Const;
  u8 name = 0;  // of a Name or Constant
  u8 nsrc = 0;
  std::array<u8, 3> srcs = {};
  bool real = false;     // a Literal written with a decimal point
  bool boolean = false;  // a Literal that is a Bool
  bool folded = false;   // inside fold()
  i64 bits = 0;          // of a Literal: the integer, or the bits of the f64
};

inline constexpr usize kMaxCells = 16, kNames = 4;

// An expression: cells in order of construction, the root last.
struct Pattern {
  std::array<Cell, kMaxCells> cells = {};
  u8 count = 0;

  constexpr Pattern() = default;
  template <std::integral T>
  constexpr Pattern(T value) : count(1) {  // NOLINT: literals stand for themselves
    cells[0].bits = static_cast<i64>(value);
  }
  constexpr Pattern(f64 value) : count(1) {  // NOLINT
    cells[0].bits = std::bit_cast<i64>(value);
    cells[0].real = true;
  }
  constexpr const Cell& root() const { return cells[count - 1u]; }
};

constexpr Pattern name(Cell::Kind kind, u8 number) {
  Pattern p;
  p.cells[0].kind = kind;
  p.cells[0].name = number;
  p.count = 1;
  return p;
}

constexpr u8 append(Pattern& to, const Pattern& from) {
  const u8 base = to.count;
  for (u8 i = 0; i < from.count; ++i) {
    Cell cell = from.cells[i];
    for (u8 s = 0; s < cell.nsrc; ++s) cell.srcs[s] = static_cast<u8>(cell.srcs[s] + base);
    to.cells.at(to.count++) = cell;  // too long a pattern does not compile
  }
  return static_cast<u8>(to.count - 1);
}

template <class... Patterns>
constexpr Pattern node(Op op, const Patterns&... srcs) {
  Pattern p;
  Cell cell;
  cell.kind = Cell::Kind::Node;
  cell.op = op;
  ((cell.srcs[cell.nsrc++] = append(p, srcs)), ...);
  p.cells.at(p.count++) = cell;
  return p;
}

inline constexpr Pattern x = name(Cell::Kind::Name, 0), y = name(Cell::Kind::Name, 1),
                         z = name(Cell::Kind::Name, 2), w = name(Cell::Kind::Name, 3);
inline constexpr Pattern c0 = name(Cell::Kind::Constant, 0), c1 = name(Cell::Kind::Constant, 1),
                         c2 = name(Cell::Kind::Constant, 2), c3 = name(Cell::Kind::Constant, 3);

constexpr Pattern operator+(const Pattern& a, const Pattern& b) { return node(Op::Add, a, b); }
constexpr Pattern operator-(const Pattern& a, const Pattern& b) { return node(Op::Sub, a, b); }
constexpr Pattern operator-(const Pattern& a) { return node(Op::Neg, a); }
constexpr Pattern operator*(const Pattern& a, const Pattern& b) { return node(Op::Mul, a, b); }
constexpr Pattern operator/(const Pattern& a, const Pattern& b) { return node(Op::FloorDiv, a, b); }
constexpr Pattern operator%(const Pattern& a, const Pattern& b) { return node(Op::FloorMod, a, b); }
constexpr Pattern operator<(const Pattern& a, const Pattern& b) { return node(Op::CmpLt, a, b); }
constexpr Pattern operator&(const Pattern& a, const Pattern& b) { return node(Op::And, a, b); }
constexpr Pattern operator|(const Pattern& a, const Pattern& b) { return node(Op::Or, a, b); }
constexpr Pattern operator^(const Pattern& a, const Pattern& b) { return node(Op::Xor, a, b); }
constexpr Pattern operator<<(const Pattern& a, const Pattern& b) { return node(Op::Shl, a, b); }
constexpr Pattern operator>>(const Pattern& a, const Pattern& b) { return node(Op::Shr, a, b); }
constexpr Pattern eq(const Pattern& a, const Pattern& b) { return node(Op::CmpEq, a, b); }
constexpr Pattern ne(const Pattern& a, const Pattern& b) { return node(Op::CmpNe, a, b); }
// Negation of a Bool.
constexpr Pattern lnot(const Pattern& a) {
  Pattern yes(1);
  yes.cells[0].boolean = true;
  return node(Op::CmpNe, a, yes);
}
constexpr Pattern max(const Pattern& a, const Pattern& b) { return node(Op::Max, a, b); }
constexpr Pattern fdiv(const Pattern& a, const Pattern& b) { return node(Op::FDiv, a, b); }
constexpr Pattern cdiv(const Pattern& a, const Pattern& b) { return node(Op::CDiv, a, b); }
constexpr Pattern cmod(const Pattern& a, const Pattern& b) { return node(Op::CMod, a, b); }
constexpr Pattern pow(const Pattern& a, const Pattern& b) { return node(Op::Pow, a, b); }
constexpr Pattern recip(const Pattern& a) { return node(Op::Recip, a); }
constexpr Pattern sqrt(const Pattern& a) { return node(Op::Sqrt, a); }
constexpr Pattern exp2(const Pattern& a) { return node(Op::Exp2, a); }
constexpr Pattern log2(const Pattern& a) { return node(Op::Log2, a); }
constexpr Pattern trunc(const Pattern& a) { return node(Op::Trunc, a); }
constexpr Pattern where(const Pattern& c, const Pattern& a, const Pattern& b) {
  return node(Op::Where, c, a, b);
}

constexpr Pattern fold(Pattern p) {
  for (u8 i = 0; i < p.count; ++i) p.cells[i].folded = true;
  return p;
}

// "x * c0 + 1", fully bracketed below the root.
std::string to_string(const Pattern& pattern);

}  // namespace pat

}  // namespace doorbell::core
