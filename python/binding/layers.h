// Shared by the bindings of layers.
#pragma once

#include "python/binding/module.h"
#include "tensor/nn/layers.h"

namespace doorbell::python {

// Signatures of attributes, which nanobind does not copy.
inline const char* kept(std::string text) { return (new std::string(std::move(text)))->c_str(); }

// A tensor of a layer as an attribute; None if the layer has none.
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

// Replaces the layer's tensors; throws for other names.
template <class Layer>
void set_tensors(Layer& layer, const nb::dict& tensors) {
  nn::Visitor visitor(
      [&](const std::string& name, Tensor& tensor) {
        const nb::str key(name.c_str());
        tensor = tensors.contains(key) ? as_tensor(nb::object(tensors[key])) : Tensor();
      },
      true);
  layer.visit(visitor);
}

// The constructor's arguments of a layer by name, for repr() and pickles.
template <class Layer>
using Arguments = nb::dict (*)(const Layer& layer);
nb::str repr_of_layer(nb::handle self, const nb::dict& arguments);
// For pickle and copy: doorbell.pickling restores it.
nb::tuple reduce_layer(nb::handle self, const nb::dict& arguments, const nb::list& tensors);
// As the functions of doorbell.nn.state.
nb::object layer_state_dict(nb::handle self);
nb::object load_layer_state(nb::handle self, nb::handle state, bool strict);
nb::object layer_parameters(nb::handle self);

// A layer with copies of the tensors; a Python subclass is kept, and its attributes are copied too.
template <class Layer>
nb::object deep_copy_layer(nb::handle self, nb::handle memo) {
  const nb::object copy = nb::inst_alloc(self.type());
  auto* layer = new (nb::inst_ptr<Layer>(copy)) Layer(*nb::inst_ptr<Layer>(self));
  nb::inst_mark_ready(copy);
  nn::Visitor visitor(
      [memo](const std::string&, Tensor& tensor) { tensor = deep_copy(tensor, memo); });
  layer->visit(visitor);
  // Attributes may lead back to the layer.
  memo[nb::int_(reinterpret_cast<std::uintptr_t>(self.ptr()))] = copy;
  const nb::object attributes = self.attr("__dict__");
  copy.attr("__dict__")
      .attr("update")(nb::module_::import_("copy").attr("deepcopy")(attributes, memo));
  return copy;
}

// Members of every layer besides the call.
template <class Layer>
void define_layer_basics(nb::class_<Layer>& type, const char* name, Arguments<Layer> arguments) {
  type.def(
      "__deepcopy__", &deep_copy_layer<Layer>, nb::arg("memo"),
      nb::sig(kept(std::string("def __deepcopy__(self, memo: dict[int, object], /) -> ") + name)));
  type.def("_tensors", &named_tensors<Layer>,
           nb::sig("def _tensors(self) -> list[tuple[str, "
                   "Tensor]]"));
  type.def("_set_tensors", &set_tensors<Layer>, nb::arg("tensors"),
           nb::sig("def _set_tensors(self, tensors: dict[str, Tensor]) -> None"));
  type.def("__repr__", [arguments](nb::handle self) {
    return repr_of_layer(self, arguments(*nb::inst_ptr<Layer>(self)));
  });
  type.def(
      "__reduce__",
      [arguments](nb::handle self) {
        Layer& layer = *nb::inst_ptr<Layer>(self);
        return reduce_layer(self, arguments(layer), named_tensors(layer));
      },
      nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"));
  type.def("state_dict", &layer_state_dict, nb::sig("def state_dict(self) -> dict[str, Tensor]"),
           "Its tensors by name, as nn.state.get_state_dict gives them.");
  type.def("load_state_dict", &load_layer_state, nb::arg("state_dict"), nb::arg("strict") = true,
           nb::sig("def load_state_dict(self, state_dict: dict[str, typing.Any], strict: bool = "
                   "True) -> tuple[list[str], list[str]]"),
           "As nn.state.load_state_dict: gives its tensors these values.");
  type.def("parameters", &layer_parameters, nb::sig("def parameters(self) -> list[Tensor]"),
           "Its tensors that are marked requires_grad: what an optimizer changes.");
}

template <class Layer, class... Extra>
nb::class_<Layer> define_layer(nb::module_& module, const char* name, const char* text,
                               Arguments<Layer> arguments, const Extra&... extra) {
  nb::class_<Layer> type(module, name, nb::dynamic_attr(), text);
  type.def(
      "__call__", [](Layer& self, const Tensor& x) { return self(x); }, nb::arg("x"), extra...);
  define_layer_basics(type, name, arguments);
  return type;
}

inline nb::object per_axis_object(const PerAxis& sizes) {
  const std::vector<i64>& values = sizes.values();
  return values.size() == 1 ? nb::cast(values[0]) : nb::object(nb::tuple(nb::cast(values)));
}

inline PerAxis per_axis(const Ints& values) { return values.values; }

}  // namespace doorbell::python
