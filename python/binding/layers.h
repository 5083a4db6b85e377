// What the bindings of layers and optimisers share.
#pragma once

#include "python/binding/module.h"
#include "tensor/nn/layers.h"

namespace doorbell::python {

// Signatures of attributes, which nanobind does not copy.
inline const char* kept(std::string text) { return (new std::string(std::move(text)))->c_str(); }

// A tensor of a layer as an attribute; None where the layer has none.
template <class Class, class Layer>
void tensor_attribute(Class& type, const char* name, Tensor Layer::* member) {
  const std::string head = std::string("def ") + name;
  type.def_prop_rw(
      name, [member](const Layer& self) { return to_python(self.*member); },
      [member](Layer& self, const MaybeTensor& tensor) { self.*member = tensor.tensor; },
      nb::for_setter(nb::arg("tensor").none()),
      nb::for_getter(nb::sig(kept(head + "(self) -> Tensor"))),
      nb::for_setter(nb::sig(kept(head + "(self, tensor: Tensor | None, /) -> None"))));
}

// The names and tensors of a layer, for doorbell.nn.state.
template <class Layer>
nb::list named_tensors(Layer& layer) {
  nb::list result;
  for (const auto& [name, tensor] : nn::state_of(layer))
    result.append(nb::make_tuple(name, tensor));
  return result;
}

// A layer with tensors of its own; a subclass of Python stays one, with its attributes copied too.
template <class Layer>
nb::object deep_copy_layer(nb::handle self, nb::handle memo) {
  const nb::object copy = nb::inst_alloc(self.type());
  auto* layer = new (nb::inst_ptr<Layer>(copy)) Layer(*nb::inst_ptr<Layer>(self));
  nb::inst_mark_ready(copy);
  nn::Visitor visitor(
      [memo](const std::string&, Tensor& tensor) { tensor = deep_copy(tensor, memo); });
  layer->visit(visitor);
  const nb::object attributes = self.attr("__dict__");
  copy.attr("__dict__")
      .attr("update")(nb::module_::import_("copy").attr("deepcopy")(attributes, memo));
  return copy;
}

// What every layer has: a call, and its tensors by name.
template <class Layer>
nb::class_<Layer> define_layer(nb::module_& module, const char* name, const char* text) {
  nb::class_<Layer> type(module, name, nb::dynamic_attr(), text);
  type.def("__call__", [](Layer& self, const Tensor& x) { return self(x); }, nb::arg("x"));
  type.def(
      "__deepcopy__", &deep_copy_layer<Layer>, nb::arg("memo"),
      nb::sig(kept(std::string("def __deepcopy__(self, memo: dict[int, object], /) -> ") + name)));
  type.def("_tensors", &named_tensors<Layer>,
           nb::sig("def _tensors(self) -> list[tuple[str, "
                   "Tensor]]"));
  return type;
}

inline PerAxis per_axis(const Ints& values) { return values.values; }

}  // namespace doorbell::python
