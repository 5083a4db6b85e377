// Walks Python containers by recursion: they nest only as deep as a program wrote them.
#include "python/binding/tree.h"

#include <fmt/format.h>

namespace doorbell::python {

namespace {

bool is_plain(nb::handle object) {
  PyObject* given = object.ptr();
  return PyBool_Check(given) || PyLong_Check(given) || PyFloat_Check(given) ||
         PyUnicode_Check(given) || PyBytes_Check(given) || nb::isinstance<DType>(object);
}

bool same_constant(nb::handle a, nb::handle b) {
  if (a.is(b)) return true;
  return is_plain(a) && is_plain(b) && a.type().is(b.type()) && a.equal(b);
}

void flatten_items(nb::handle items, Tree& tree, Leaves& leaves) {
  for (nb::handle item : nb::borrow<nb::sequence>(items))
    tree.items.push_back(flatten(item, leaves));
}

struct Cursor {
  const Leaves& leaves;
  usize tensor = 0, size = 0;
};

nb::object rebuild_at(const Tree& tree, Cursor& at) {
  switch (tree.kind) {
    case Tree::Kind::Tensor: return to_python(at.leaves.tensors[at.tensor++]);
    case Tree::Kind::Size: return nb::cast(at.leaves.sizes[at.size++]);
    case Tree::Kind::None: return nb::none();
    case Tree::Kind::Constant: return tree.object;
    case Tree::Kind::Dict: {
      nb::dict dict;
      for (usize i = 0; i < tree.items.size(); ++i)
        dict[tree.keys[i]] = rebuild_at(tree.items[i], at);
      return dict;
    }
    default: break;
  }
  nb::list list;
  for (const Tree& item : tree.items) list.append(rebuild_at(item, at));
  if (tree.kind == Tree::Kind::List) return list;
  if (tree.kind == Tree::Kind::NamedTuple) return tree.object(*list);
  return nb::tuple(list);
}

const char* word(Tree::Kind kind) {
  switch (kind) {
    case Tree::Kind::Tensor: return "a tensor";
    case Tree::Kind::Size: return "a bound size";
    case Tree::Kind::None: return "None";
    case Tree::Kind::Constant: return "a constant";
    case Tree::Kind::Dict: return "a dict";
    case Tree::Kind::List: return "a list";
    default: return "a tuple";
  }
}

}  // namespace

Tree flatten(nb::handle value, Leaves& leaves) {
  Tree tree;
  PyObject* object = value.ptr();
  if (is_tensor(value)) {
    tree.kind = Tree::Kind::Tensor;
    leaves.tensors.push_back(as_tensor(value));
  } else if (value.is_none()) {
    tree.kind = Tree::Kind::None;
  } else if (nb::isinstance<Size>(value)) {
    tree.kind = Tree::Kind::Size;
    leaves.sizes.push_back(*nb::inst_ptr<Size>(value));
  } else if (PyList_Check(object) != 0) {
    tree.kind = Tree::Kind::List;
    flatten_items(value, tree, leaves);
  } else if (PyTuple_Check(object) != 0) {
    const bool named = nb::hasattr(value, "_fields");
    tree.kind = named ? Tree::Kind::NamedTuple : Tree::Kind::Tuple;
    if (named) tree.object = nb::borrow(value.type());
    flatten_items(value, tree, leaves);
  } else if (PyDict_Check(object) != 0) {
    tree.kind = Tree::Kind::Dict;
    for (auto [key, item] : nb::borrow<nb::dict>(value)) {
      tree.keys.push_back(nb::borrow(key));
      tree.items.push_back(flatten(item, leaves));
    }
  } else {
    tree.kind = Tree::Kind::Constant;
    tree.object = nb::borrow(value);
  }
  return tree;
}

nb::object rebuild(const Tree& tree, const Leaves& leaves) {
  Cursor at{leaves};
  return rebuild_at(tree, at);
}

std::string difference(const Tree& now, const Tree& before, const std::string& place) {
  if (now.kind != before.kind)
    return fmt::format("{} is {}, captured with {}", place, word(now.kind), word(before.kind));
  if (now.kind == Tree::Kind::Constant && !same_constant(now.object, before.object))
    return fmt::format("{} is {}, captured with {}", place, nb::repr(now.object).c_str(),
                       nb::repr(before.object).c_str());
  if (now.items.size() != before.items.size())
    return fmt::format("{} has {} items, captured with {}", place, now.items.size(),
                       before.items.size());
  for (usize i = 0; i < now.items.size(); ++i) {
    const bool is_dict = now.kind == Tree::Kind::Dict;
    if (is_dict && !now.keys[i].equal(before.keys[i]))
      return fmt::format("{} has {}, captured with {}", place, nb::repr(now.keys[i]).c_str(),
                         nb::repr(before.keys[i]).c_str());
    const std::string inner = is_dict ? fmt::format("{}[{}]", place, nb::repr(now.keys[i]).c_str())
                                      : fmt::format("{}[{}]", place, i);
    std::string found = difference(now.items[i], before.items[i], inner);
    if (!found.empty()) return found;
  }
  return {};
}

bool same_structure(const Tree& a, const Tree& b) {
  if (a.kind != b.kind || a.items.size() != b.items.size()) return false;
  for (usize i = 0; i < a.keys.size(); ++i)
    if (!a.keys[i].equal(b.keys[i])) return false;
  for (usize i = 0; i < a.items.size(); ++i)
    if (!same_structure(a.items[i], b.items[i])) return false;
  return true;
}

const Tree* first_constant(const Tree& tree) {
  if (tree.kind == Tree::Kind::Constant) return &tree;
  for (const Tree& item : tree.items)
    if (const Tree* found = first_constant(item)) return found;
  return nullptr;
}

}  // namespace doorbell::python
