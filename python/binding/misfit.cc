// Finds the argument that does not fit, and writes the message.
#include "python/binding/misfit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "python/binding/create.h"

namespace doorbell::python {

namespace {

std::string_view text_of(PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  return text != nullptr ? text : "?";
}

const Parameter* find(const Callee& callee, std::string_view name) {
  for (const Parameter& parameter : callee.parameters)
    for (std::string_view own : names_of(parameter))
      if (own == name) return &parameter;
  return nullptr;
}

// "axis (dim), keepdim (keepdims) and dtype"
std::string all_names(const Callee& callee) {
  std::vector<std::string> parts;
  for (const Parameter& parameter : callee.parameters) {
    const std::vector<std::string_view> names = names_of(parameter);
    const std::span others(names.begin() + 1, names.end());
    parts.push_back(others.empty() ? std::string(names[0])
                                   : fmt::format("{} ({})", names[0], fmt::join(others, ", ")));
  }
  if (parts.size() < 2) return parts.empty() ? "none" : parts[0];
  const std::string last = parts.back();
  parts.pop_back();
  return fmt::format("{} and {}", fmt::join(parts, ", "), last);
}

// The value if it is short, otherwise its type.
std::string shown(nb::handle value) {
  PyObject* object = value.ptr();
  const bool is_plain = PyUnicode_Check(object) || PyLong_Check(object) || PyFloat_Check(object) ||
                        PyList_Check(object) || PyTuple_Check(object) || value.is_none();
  if (is_plain) {
    const std::string text = nb::repr(value).c_str();
    if (text.size() <= 60) return text;
  }
  return nb::repr(value.type()).c_str();
}

using Given = std::pair<const Parameter*, nb::handle>;

// The arguments by parameter. An argument without a parameter, or given twice, is reported in
// *error.
std::vector<Given> match(const Callee& callee, PyObject* const* args, Py_ssize_t count,
                         PyObject* names, std::string* error) {
  std::vector<Given> given;
  usize at = 0;
  for (Py_ssize_t i = callee.is_method ? 1 : 0; i < count; ++i) {
    if (at >= callee.parameters.size()) {
      *error = fmt::format("{}() is given {} arguments, expected at most {}: {}", callee.name,
                           count - (callee.is_method ? 1 : 0), callee.parameters.size(),
                           all_names(callee));
      return {};
    }
    const Parameter& parameter = callee.parameters[at];
    if (parameter.is_starred) continue;
    given.emplace_back(&parameter, args[i]);
    ++at;
  }
  for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_GET_SIZE(names); ++i) {
    const std::string_view name = text_of(PyTuple_GET_ITEM(names, i));
    const Parameter* parameter = find(callee, name);
    if (parameter == nullptr) {
      *error = fmt::format("{}() has no argument {}; its arguments: {}", callee.name, name,
                           all_names(callee));
      return {};
    }
    if (std::ranges::any_of(given, [&](const Given& other) { return other.first == parameter; })) {
      *error = fmt::format("{}() is given {} twice: by place and as {}", callee.name,
                           names_of(*parameter)[0], name);
      return {};
    }
    given.emplace_back(parameter, args[count + i]);
  }
  return given;
}

std::string find_misfit(const Callee& callee, PyObject* const* args, Py_ssize_t count,
                        PyObject* names, PyObject** kind) {
  if (callee.is_method && count > 0 && !is_tensor(args[0]))
    return fmt::format("{}() of {}, expected a tensor", callee.name, shown(args[0]));
  std::string error;
  const std::vector<Given> given = match(callee, args, count, names, &error);
  if (!error.empty()) return error;
  for (const auto& [parameter, value] : given) {
    if (parameter->reads(value)) continue;
    if (overflows(value)) {
      *kind = PyExc_OverflowError;
      return fmt::format("{}(): {} is {}, beyond integers of 64 bits", callee.name,
                         names_of(*parameter)[0], shown(value));
    }
    const std::string expected =
        parameter->reads == &reads<DTypeArg> || parameter->reads == &reads_or_none<DTypeArg>
            ? expected_dtypes()
            : std::string(parameter->expected);
    return fmt::format("{}(): {} is {}, expected {}", callee.name, names_of(*parameter)[0],
                       shown(value), expected);
  }
  for (const Parameter& parameter : callee.parameters)
    if (parameter.is_required &&
        !std::ranges::any_of(given, [&](const Given& other) { return other.first == &parameter; }))
      return fmt::format("{}() lacks the argument {}; its arguments: {}", callee.name,
                         names_of(parameter)[0], all_names(callee));
  return {};
}

}  // namespace

std::vector<std::string_view> names_of(const Parameter& parameter) {
  std::vector<std::string_view> names;
  for (std::string_view rest = parameter.names; !rest.empty();) {
    const usize end = std::min(rest.find('|'), rest.size());
    names.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return names;
}

Py_ssize_t name_of_first(const Callee& callee, Py_ssize_t count, PyObject* names) {
  static constexpr std::string_view kFirst[] = {"input",     "self",    "a",
                                                "condition", "tensors", "arrays"};
  if (!callee.is_method || count != 0 || callee.parameters.data() == nullptr) return -1;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    const std::string_view name = text_of(PyTuple_GET_ITEM(names, i));
    if (std::ranges::find(kFirst, name) == std::end(kFirst)) continue;
    const Parameter* other = find(callee, name);
    if (other == nullptr || other->is_starred) return i;
  }
  return -1;
}

DType dtype_for(const char* what, nb::handle given) {
  DType dtype;
  if (!given.is_none() && read_dtype(given, &dtype)) return dtype;
  throw nb::type_error(
      fmt::format("{}: dtype is {}, expected {}", what, shown(given), expected_dtypes()).c_str());
}

bool refuse_twice(const Callee& callee, PyObject* names) {
  std::vector<std::pair<const Parameter*, std::string_view>> seen;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    const std::string_view name = text_of(PyTuple_GET_ITEM(names, i));
    const Parameter* parameter = find(callee, name);
    if (parameter == nullptr) continue;
    for (const auto& [other, as] : seen) {
      if (other != parameter) continue;
      PyErr_SetString(PyExc_TypeError, fmt::format("{}() is given {} twice: as {} and as {}",
                                                   callee.name, names_of(*parameter)[0], as, name)
                                           .c_str());
      return true;
    }
    seen.emplace_back(parameter, name);
  }
  return false;
}

void explain_misfit(const Callee& callee, PyObject* const* args, Py_ssize_t count,
                    PyObject* names) {
  if (callee.parameters.data() == nullptr || PyErr_ExceptionMatches(PyExc_TypeError) == 0) return;
  nb::python_error original;  // takes the error that is set
  const std::string opening = callee.name + "(): incompatible function arguments";
  const nb::str text(original.value());
  if (!std::string_view(text.c_str()).starts_with(opening)) return original.restore();
  PyObject* kind = PyExc_TypeError;
  const std::string why = find_misfit(callee, args, count, names, &kind);
  if (why.empty()) return original.restore();
  PyErr_SetString(kind, why.c_str());
}

}  // namespace doorbell::python
