// Explains why a call fits no overload: the argument that is unknown, missing, given twice or of a
// wrong type. Runs only after nanobind rejected a call, so that other calls cost nothing.
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
// The position among the keywords of a call's first argument, by one of its names in PyTorch and
// NumPy, for calls without positional arguments; -1 if it is not there.
Py_ssize_t name_of_first(const Callee& callee, Py_ssize_t count, PyObject* names);
// Sets a TypeError if two names give one argument.
bool refuse_twice(const Callee& callee, PyObject* names);
// Replaces the error that nanobind raises when the arguments fit no overload by one that names the
// argument; leaves other errors. An integer beyond 64 bits is an OverflowError.
void explain_misfit(const Callee& callee, PyObject* const* args, Py_ssize_t count, PyObject* names);

// A dtype of `what`. Throws TypeError that names the dtypes.
DType dtype_for(const char* what, nb::handle given);

}  // namespace doorbell::python
