// The tensors and sizes in a Python value and their containers, for jit's arguments and results.
// Walks lists, tuples, named tuples and dicts; anything else is a constant.
#pragma once

#include <string>
#include <vector>

#include "python/binding/arguments.h"

namespace doorbell::python {

struct Tree {
  enum class Kind : u8 { Tensor, Size, None, Constant, Tuple, NamedTuple, List, Dict };
  Kind kind = Kind::None;
  std::vector<Tree> items;
  std::vector<nb::object> keys;  // of a dict
  nb::object object;             // a constant, or the type of a named tuple
};

struct Leaves {
  std::vector<Tensor> tensors;
  std::vector<Size> sizes;
};

// Appends the tensors and sizes to `leaves`.
Tree flatten(nb::handle value, Leaves& leaves);
// A copy of the value with other tensors and sizes.
nb::object rebuild(const Tree& tree, const Leaves& leaves);
// Describes the first difference of two; empty if there is none. Numbers, texts and None are
// compared by value, other constants by identity.
std::string difference(const Tree& now, const Tree& before, const std::string& place);
// Whether two have the same containers, with tensors, sizes and constants at the same positions;
// difference() compares the constants.
bool same_structure(const Tree& a, const Tree& b);
// The first constant in it; null if there is none.
const Tree* first_constant(const Tree& tree);

}  // namespace doorbell::python
