// Text, pickles and states of layers. The Python part is in doorbell.nn.state and
// doorbell.pickling.
#include "python/binding/layers.h"

namespace doorbell::python {

nb::str repr_of_layer(nb::handle self, const nb::dict& arguments) {
  std::string text = nb::cast<std::string>(self.type().attr("__name__")) + "(";
  bool is_first = true;
  for (auto [name, value] : arguments) {
    text += (is_first ? "" : ", ") + nb::cast<std::string>(name) + "=" + nb::repr(value).c_str();
    is_first = false;
  }
  return nb::str((text + ")").c_str());
}

nb::tuple reduce_layer(nb::handle self, const nb::dict& arguments, const nb::list& tensors) {
  nb::dict named;
  for (nb::handle pair : tensors) named[pair[0]] = pair[1];
  const nb::object rebuild = nb::module_::import_("doorbell.pickling").attr("layer");
  nb::object attributes = nb::none();
  const nb::object own = self.attr("__dict__");
  if (nb::len(own) != 0) attributes = own;
  return nb::make_tuple(rebuild, nb::make_tuple(self.type(), arguments, named), attributes);
}

namespace {

nb::object state_function(const char* name) {
  return nb::module_::import_("doorbell.nn.state").attr(name);
}

}  // namespace

nb::object layer_state_dict(nb::handle self) { return state_function("get_state_dict")(self); }

nb::object load_layer_state(nb::handle self, nb::handle state, bool strict) {
  return state_function("load_state_dict")(self, state, strict);
}

nb::object layer_parameters(nb::handle self) { return state_function("get_parameters")(self); }

}  // namespace doorbell::python
