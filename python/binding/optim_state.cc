// Converts options and states between Python dicts and the library's types.
#include "python/binding/optim_state.h"

#include <fmt/format.h>
#include <nanobind/nanobind.h>

#include "python/binding/create.h"

namespace doorbell::python {

namespace {

nb::object to_python(const nn::OptionValue& value) {
  return std::visit(
      [](const auto& held) -> nb::object {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::monostate>)
          return nb::none();
        else if constexpr (std::is_same_v<Held, std::vector<f64>>)
          return nb::tuple(nb::cast(held));
        else
          return nb::cast(held);
      },
      value);
}

// Numbers may be tensors of one element, as PyTorch has rates.
nn::OptionValue option_of(nb::handle given, const std::string& name) {
  if (given.is_none()) return std::monostate();
  if (PyBool_Check(given.ptr())) return nb::cast<bool>(given);
  if (PyLong_Check(given.ptr())) return nb::cast<i64>(given);
  if (PyFloat_Check(given.ptr())) return nb::cast<f64>(given);
  if (PyUnicode_Check(given.ptr())) return nb::cast<std::string>(given);
  std::vector<f64> numbers;
  const bool is_sequence = PyTuple_Check(given.ptr()) || PyList_Check(given.ptr());
  if (is_sequence && nb::try_cast(given, numbers)) return numbers;
  if (!is_sequence && nb::hasattr(given, "__float__"))
    return nb::cast<f64>(given.attr("__float__")());
  throw nb::type_error(fmt::format("option {} is {}, expected a number, a bool or a tuple of "
                                   "numbers",
                                   name, nb::repr(given).c_str())
                           .c_str());
}

Tensor state_tensor(nb::handle given) {
  return is_tensor(given) ? as_tensor(given) : make_tensor(given, {});
}

nb::dict state_dict(const nn::Optimizer& self) {
  const nn::OptimizerState state = self.state_dict();
  nb::dict parameters, all;
  for (const auto& [number, tensors] : state.state) {
    nb::dict own;
    for (const auto& [name, tensor] : tensors) own[nb::str(name.c_str())] = tensor;
    parameters[nb::int_(number)] = own;
  }
  nb::list groups;
  for (usize i = 0; i < state.param_groups.size(); ++i) {
    nb::dict group = options_dict(self, i);
    group["params"] = state.param_groups[i].params;
    groups.append(group);
  }
  all["state"] = parameters;
  all["param_groups"] = groups;
  return all;
}

nn::OptimizerState state_of_dict(const nb::dict& dict) {
  nn::OptimizerState state;
  for (auto [number, tensors] : nb::cast<nb::dict>(dict["state"])) {
    nn::NamedTensors own;
    for (auto [name, tensor] : nb::cast<nb::dict>(tensors)) {
      // PyTorch's momentum_buffer without momentum.
      if (!tensor.is_none()) own.emplace_back(nb::cast<std::string>(name), state_tensor(tensor));
    }
    state.state.emplace(nb::cast<i64>(nb::int_(number)), std::move(own));
  }
  for (nb::handle given : nb::borrow<nb::sequence>(dict["param_groups"])) {
    nn::OptimizerState::Group group;
    for (auto [key, value] : nb::cast<nb::dict>(given)) {
      const std::string name = nb::cast<std::string>(key);
      if (name == "params")
        group.params = nb::cast<std::vector<i64>>(value);
      else if (name != "param_names")
        group.options.emplace_back(name, option_of(value, name));
    }
    state.param_groups.push_back(std::move(group));
  }
  return state;
}

void load_state_dict(nn::Optimizer& self, const nb::dict& dict) {
  for (const char* key : {"state", "param_groups"})
    if (!dict.contains(key))
      throw nb::key_error(
          fmt::format("no {} in the state of an optimizer: it is what state_dict() gives", key)
              .c_str());
  const nn::OptimizerState state = state_of_dict(dict);
  Unlocked unlocked;
  self.load_state_dict(state);
}

// A group of a live optimiser, like PyTorch's dicts: group["lr"] = 0.1 takes effect at once.
struct ParamGroup {
  nb::object owner;
  usize number = 0;

  nn::Optimizer& optimizer() const { return *nb::inst_ptr<nn::Optimizer>(owner); }
  nb::dict dict() const {
    nb::dict all = options_dict(optimizer(), number);
    all["params"] = optimizer().group_parameters(number);
    return all;
  }
};

nb::list param_groups(nb::handle self) {
  nb::list groups;
  const usize count = nb::inst_ptr<nn::Optimizer>(self)->group_count();
  for (usize i = 0; i < count; ++i) groups.append(ParamGroup{nb::borrow(self), i});
  return groups;
}

// Its parts, which doorbell.nn.optim reassembles: parameters stay shared.
nb::tuple reduce(nb::handle self) {
  nb::list groups;
  for (nb::handle group : param_groups(self)) groups.append(nb::cast<ParamGroup>(group).dict());
  const nb::object rebuild = nb::module_::import_("doorbell.nn.optim").attr("_rebuild");
  const nb::object attributes = nb::getattr(self, "__dict__", nb::dict());
  return nb::make_tuple(
      rebuild, nb::make_tuple(self.type(), groups, state_dict(*nb::inst_ptr<nn::Optimizer>(self)),
                              attributes));
}

}  // namespace

GivenGroup group_of(const nb::dict& dict) {
  if (!dict.contains("params")) throw nb::key_error("a group of parameters without \"params\"");
  GivenGroup group;
  const nb::object params = dict["params"];
  if (is_tensor(params)) {
    group.parameters.push_back(as_tensor(params));
  } else {
    for (nb::handle item : params) {
      if (!is_tensor(item)) throw nb::type_error("an optimizer takes tensors");
      group.parameters.push_back(as_tensor(item));
    }
  }
  for (auto [key, value] : dict)
    if (nb::cast<std::string>(key) != "params") group.options[key] = value;
  return group;
}

std::vector<GivenGroup> groups_of(nb::handle params) {
  if (is_tensor(params))
    throw nb::type_error("params of an optimizer: a list of tensors or of dicts, not one tensor");
  std::vector<GivenGroup> groups;
  GivenGroup plain;
  const nb::object items = nb::borrow(params);
  for (nb::handle item : items) {
    if (PyDict_Check(item.ptr()))
      groups.push_back(group_of(nb::borrow<nb::dict>(item)));
    else if (is_tensor(item))
      plain.parameters.push_back(as_tensor(item));
    else
      throw nb::type_error("an optimizer takes tensors");
  }
  if (!groups.empty() && !plain.parameters.empty())
    throw nb::type_error("params of an optimizer: tensors beside dicts");
  if (groups.empty()) groups.push_back(std::move(plain));
  return groups;
}

nb::dict options_dict(const nn::Optimizer& optimizer, usize group) {
  nb::dict options;
  for (const auto& [name, value] : optimizer.options(group))
    options[nb::str(name.c_str())] = to_python(value);
  return options;
}

void set_options(nn::Optimizer& optimizer, usize group, const nb::dict& options) {
  nn::NamedOptions given;
  for (auto [key, value] : options) {
    const std::string name = nb::cast<std::string>(key);
    given.emplace_back(name, option_of(value, name));
  }
  optimizer.set_options(group, given);
}

void define_state(nb::class_<nn::Optimizer>& optimizer) {
  optimizer
      .def("state_dict", &state_dict, nb::sig("def state_dict(self) -> dict[str, typing.Any]"),
           "What it remembers, in PyTorch's structure: {\"state\": {0: {...}}, \"param_groups\": "
           "[{...}]}. Later steps do not change it.\n\n"
           ">>> w = Tensor([1.0], requires_grad=True)\n"
           ">>> nn.optim.SGD([w], lr=0.5, momentum=0.9).state_dict()[\"state\"]\n"
           "{0: {'momentum_buffer': tensor([0.])}}")
      .def("load_state_dict", &load_state_dict, nb::arg("state_dict"),
           nb::sig("def load_state_dict(self, state_dict: dict[str, typing.Any]) -> None"),
           "Goes on where an optimizer was, ours or PyTorch's of the same name; tensors may be "
           "PyTorch's.\n\nRaises ValueError for other groups and shapes, and UnsupportedError for "
           "what only PyTorch can (amsgrad); nothing is changed then.")
      .def_prop_ro(
          "param_groups", &param_groups, nb::sig("def param_groups(self) -> list[ParamGroup]"),
          "Its groups of parameters, each as a dict: group[\"lr\"] = 0.1 acts at once.\n\n"
          ">>> w = Tensor([1.0], requires_grad=True)\n"
          ">>> nn.optim.SGD([{\"params\": [w], \"lr\": 0.5}]).param_groups[0][\"lr\"]\n0.5")
      .def("__reduce__", &reduce, nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"));
}

void define_param_group(nb::module_& module) {
  nb::class_<ParamGroup>(module, "ParamGroup",
                         "A group of an optimizer's parameters and its options, as a dict.")
      .def(
          "__getitem__",
          [](const ParamGroup& self, const nb::str& name) -> nb::object {
            return nb::object(self.dict()[name]);
          },
          nb::sig("def __getitem__(self, name: str, /) -> typing.Any"))
      .def(
          "__setitem__",
          [](const ParamGroup& self, const nb::str& name, const nb::object& value) {
            nb::dict one;
            one[name] = value;
            set_options(self.optimizer(), self.number, one);
          },
          nb::sig("def __setitem__(self, name: str, value: typing.Any, /) -> None"))
      .def("__len__", [](const ParamGroup& self) { return self.dict().size(); })
      .def(
          "__iter__", [](const ParamGroup& self) { return nb::iter(self.dict()); },
          nb::sig("def __iter__(self) -> collections.abc.Iterator[str]"))
      .def(
          "__contains__",
          [](const ParamGroup& self, nb::handle name) { return self.dict().contains(name); },
          nb::sig("def __contains__(self, name: object, /) -> bool"))
      .def(
          "keys", [](const ParamGroup& self) { return self.dict().keys(); },
          nb::sig("def keys(self) -> list[str]"), "The names of its options, and \"params\".")
      .def(
          "items", [](const ParamGroup& self) { return self.dict().items(); },
          nb::sig("def items(self) -> list[tuple[str, typing.Any]]"), "Names and values.")
      .def(
          "get",
          [](const ParamGroup& self, const nb::str& name, const nb::object& other) {
            return nb::object(self.dict().attr("get")(name, other));
          },
          nb::arg("name"), nb::arg("default").none() = nb::none(),
          nb::sig("def get(self, name: str, default: typing.Any = None) -> typing.Any"),
          "An option, or the default.")
      .def("__repr__", [](const ParamGroup& self) { return nb::repr(self.dict()); });
}

}  // namespace doorbell::python
