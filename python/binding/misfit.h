// Why a call fits no function: the argument that is unknown, missing, given twice or of a wrong
// kind. Looked for only when nanobind refused a call, so that other calls pay nothing.
#pragma once

#include <string>

#include "python/binding/function.h"

namespace doorbell::python {

struct Callee {
  std::string name;
  std::span<const Parameter> parameters;  // without self
  bool is_method;
};

std::vector<std::string_view> names_of(const Parameter& parameter);
// Where in the keyword names the first argument of a call stands that has no positional ones, under
// one of the names that PyTorch and NumPy have for it; -1 where it does not.
Py_ssize_t name_of_first(const Callee& callee, Py_ssize_t count, PyObject* names);
// Sets a TypeError where two names stand for one argument.
bool refuse_twice(const Callee& callee, PyObject* names);
// Of the error that nanobind raised because the arguments fit no overload, makes one that says
// which argument it is; of others nothing. An integer beyond 64 bits is an OverflowError.
void explain_misfit(const Callee& callee, PyObject* const* args, Py_ssize_t count, PyObject* names);

// A dtype of `what`. Throws TypeError that names the dtypes.
DType dtype_for(const char* what, nb::handle given);

}  // namespace doorbell::python
