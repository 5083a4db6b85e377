// Functions and methods of the module as Python sees them: nanobind's, behind a callable of our own
// that knows the other names of each argument, says in a sentence why a call does not fit, and has
// a signature for `inspect`. Converting arguments is left to nanobind, which calls without other
// names reach as they are; for which function has which arguments see
// python/surface.
#pragma once

#include <span>
#include <string_view>

#include "python/binding/arguments.h"

namespace doorbell::python {

struct Parameter {
  std::string_view names;     // "axis|dim": the first is the one that nanobind knows
  std::string_view expected;  // "int | None"
  bool (*reads)(nb::handle);  // whether nanobind would take this
  bool is_required = false;
  bool is_starred = false;  // *shape: all further positional arguments
};

// Reads for Parameter: the caster of T takes the object.
template <class T>
bool reads(nb::handle object) {
  T value;
  return nb::try_cast(object, value);
}
template <class T>
bool reads_or_none(nb::handle object) {
  return object.is_none() || reads<T>(object);
}
inline bool reads_all(nb::handle) { return true; }
bool reads_tensor(nb::handle object);
bool reads_tensors(nb::handle object);

// Puts the function `name` of `owner`, a class or module, behind one of ours. The parameters live
// as long as the process.
void spell(nb::handle owner, const char* name, std::span<const Parameter> parameters);
// All functions of the module and its classes that are not behind one yet.
void spell_all(nb::module_& module);

}  // namespace doorbell::python
