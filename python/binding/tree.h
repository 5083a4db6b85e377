// The tensors and sizes within a value of Python, and the containers they are in: what jit takes
// and gives. Lists, tuples, named tuples and dicts are walked; anything else is a constant.
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

// Appends what is found to `leaves`.
Tree flatten(nb::handle value, Leaves& leaves);
// The value again, with other tensors and sizes in the places of those found.
nb::object rebuild(const Tree& tree, const Leaves& leaves);
// The place where two differ, in words; empty where they do not. Numbers, texts and None are
// compared by value, other constants by identity.
std::string difference(const Tree& now, const Tree& before, const std::string& place);
// Whether two have the same containers, with tensors and sizes in the same places, and constants
// where the other has some: which ones is difference's.
bool same_structure(const Tree& a, const Tree& b);
// The first constant within, for who cannot keep any; null where there is none.
const Tree* first_constant(const Tree& tree);

}  // namespace doorbell::python
