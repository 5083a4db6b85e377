// The callables before nanobind's functions: two types of Python objects, methods and functions.
#include "python/binding/function.h"

#include <fmt/format.h>
#include <structmember.h>

#include <memory>

#include "python/binding/misfit.h"

namespace doorbell::python {

namespace {

// Another name of an argument, as interned strings, which compare by address.
struct Alias {
  PyObject *name, *first;
};

struct Function {
  PyObject_HEAD vectorcallfunc call;
  PyObject* inner;  // nanobind's, which lives as long
  const Callee* callee;
  const std::vector<Alias>* aliases;
};

PyTypeObject *method_type = nullptr, *static_type = nullptr;

const Function& as_function(PyObject* object) { return *reinterpret_cast<Function*>(object); }

PyObject* interned(std::string_view text) {
  PyObject* name = PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
  if (name == nullptr) throw nb::python_error();
  PyUnicode_InternInPlace(&name);
  return name;
}

// The first name of the argument `name`, or null.
PyObject* first_name(const Function& function, PyObject* name) {
  const bool by_address = PyUnicode_CHECK_INTERNED(name) != 0;
  for (const Alias& alias : *function.aliases)
    if (alias.name == name || (!by_address && PyUnicode_Compare(alias.name, name) == 0))
      return alias.first;
  return nullptr;
}

bool has_alias(const Function& function, PyObject* names) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i)
    if (first_name(function, PyTuple_GET_ITEM(names, i)) != nullptr) return true;
  return false;
}

nb::tuple first_names(const Function& function, nb::handle names) {
  nb::list renamed;
  for (nb::handle name : names) {
    PyObject* first = first_name(function, name.ptr());
    renamed.append(first != nullptr ? nb::handle(first) : name);
  }
  return nb::tuple(renamed);
}

// f(input=x, dim=0) and cat(tensors=[a, b]): what PyTorch and NumPy call the first argument, which
// is this tensor here. False where the call names none.
bool lead_by_name(const Function& function, PyObject* const* args, Py_ssize_t count,
                  PyObject* names, std::vector<PyObject*>* values, nb::object* rest) {
  const Py_ssize_t at = name_of_first(*function.callee, count, names);
  if (at < 0) return false;
  values->assign(args, args + count);
  values->push_back(args[count + at]);
  nb::list others;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    if (i == at) continue;
    others.append(nb::handle(PyTuple_GET_ITEM(names, i)));
    values->push_back(args[count + i]);
  }
  *rest = nb::tuple(others);
  return true;
}

PyObject* call_as_named(const Function& function, PyObject* const* args, Py_ssize_t count,
                        PyObject* names) {
  if (refuse_twice(*function.callee, names)) return nullptr;
  nb::object own = nb::borrow(names);
  std::vector<PyObject*> values;
  if (lead_by_name(function, args, count, names, &values, &own)) {
    args = values.data();
    ++count;
  }
  const nb::tuple renamed = first_names(function, own);
  PyObject* result = PyObject_Vectorcall(function.inner, args, static_cast<usize>(count),
                                         renamed.size() != 0 ? renamed.ptr() : nullptr);
  if (result == nullptr) explain_misfit(*function.callee, args, count, own.ptr());
  return result;
}

PyObject* call(PyObject* self, PyObject* const* args, size_t flags, PyObject* names) noexcept {
  const Function& function = as_function(self);
  const Py_ssize_t count = PyVectorcall_NARGS(flags);
  try {
    if (names == nullptr ||
        (!has_alias(function, names) && name_of_first(*function.callee, count, names) < 0)) {
      PyObject* result = PyObject_Vectorcall(function.inner, args, flags, names);
      if (result == nullptr) explain_misfit(*function.callee, args, count, names);
      return result;
    }
    return call_as_named(function, args, count, names);
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

PyObject* bind(PyObject* self, PyObject* instance, PyObject*) {
  if (instance == nullptr || instance == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, instance);
}
PyObject* stay(PyObject* self, PyObject*, PyObject*) { return Py_NewRef(self); }

PyObject* attribute(PyObject* self, PyObject* name) {
  const std::string_view text = PyUnicode_AsUTF8(name);
  for (const std::string_view own : {"__name__", "__qualname__", "__module__", "__doc__"})
    if (text == own) return PyObject_GetAttr(as_function(self).inner, name);
  return PyObject_GenericGetAttr(self, name);
}

// nanobind's function, which the type stubs are written from.
PyObject* wrapped(PyObject* self, void*) { return Py_NewRef(as_function(self).inner); }

PyObject* signature(PyObject* self, void*) {
  PyObject* module = PyImport_ImportModule("doorbell.signatures");
  if (module == nullptr) return nullptr;
  PyObject* result = PyObject_CallMethod(module, "of_function", "O", as_function(self).inner);
  Py_DECREF(module);
  return result;
}

PyObject* text(PyObject* self) {
  return PyUnicode_FromFormat("<function %S>", nb::handle(self).attr("__qualname__").ptr());
}
// By name, as functions of Python are.
PyObject* reduce(PyObject* self, PyObject*) { return PyObject_GetAttrString(self, "__qualname__"); }

PyTypeObject* make_type(const char* name, descrgetfunc get, unsigned long flags) {
  static PyMemberDef members[] = {
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(Function, call), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr}};
  static PyGetSetDef properties[] = {{"__wrapped__", wrapped, nullptr, nullptr, nullptr},
                                     {"__signature__", signature, nullptr, nullptr, nullptr},
                                     {nullptr, nullptr, nullptr, nullptr, nullptr}};
  static PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};
  PyType_Slot slots[] = {{Py_tp_members, members},
                         {Py_tp_getset, properties},
                         {Py_tp_methods, methods},
                         {Py_tp_getattro, reinterpret_cast<void*>(attribute)},
                         {Py_tp_repr, reinterpret_cast<void*>(text)},
                         {Py_tp_descr_get, reinterpret_cast<void*>(get)},
                         {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                         {0, nullptr}};
  PyType_Spec spec{name, sizeof(Function), 0,
                   static_cast<unsigned>(Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL |
                                         Py_TPFLAGS_DISALLOW_INSTANTIATION | flags),
                   slots};
  PyObject* type = PyType_FromSpec(&spec);
  if (type == nullptr) throw nb::python_error();
  return reinterpret_cast<PyTypeObject*>(type);
}

std::vector<Alias> aliases_of(std::span<const Parameter> parameters) {
  std::vector<Alias> aliases;
  for (const Parameter& parameter : parameters) {
    const std::vector<std::string_view> names = names_of(parameter);
    for (usize i = 1; i < names.size(); ++i)
      aliases.push_back({interned(names[i]), interned(names[0])});
  }
  return aliases;
}

bool is_of_nanobind(nb::handle object) {
  const std::string_view type = Py_TYPE(object.ptr())->tp_name;
  return type == "nanobind.nb_func" || type == "nanobind.nb_method";
}

}  // namespace

bool reads_tensor(nb::handle object) { return is_tensor(object); }

bool reads_tensors(nb::handle object) {
  std::vector<Tensor> tensors;
  return nb::try_cast(object, tensors);
}

void spell(nb::handle owner, const char* name, std::span<const Parameter> parameters) {
  if (method_type == nullptr) {
    method_type = make_type("doorbell.Method", bind, Py_TPFLAGS_METHOD_DESCRIPTOR);
    static_type = make_type("doorbell.Function", stay, 0);
  }
  const nb::object inner = owner.attr(name);
  const bool is_method = std::string_view(Py_TYPE(inner.ptr())->tp_name) == "nanobind.nb_method";
  Function* function = PyObject_New(Function, is_method ? method_type : static_type);
  if (function == nullptr) throw nb::python_error();
  function->call = &call;
  function->inner = inner.inc_ref().ptr();
  // Both live as long as the process, as the class does.
  function->callee = new Callee{name, parameters, is_method};
  function->aliases = new std::vector<Alias>(aliases_of(parameters));
  nb::setattr(owner, name, nb::steal(reinterpret_cast<PyObject*>(function)));
}

void spell_all(nb::module_& module) {
  auto members_of = [](nb::handle owner) {
    const nb::object dict = nb::module_::import_("builtins").attr("dict");
    return nb::borrow<nb::dict>(dict(owner.attr("__dict__")));
  };
  auto spell_members = [&](nb::handle owner) {
    const nb::dict members = members_of(owner);
    for (auto [name, member] : members) {
      const std::string text = nb::cast<std::string>(name);
      const bool is_special = text.starts_with("__") && text != "__call__";
      if (!is_special && is_of_nanobind(member)) spell(owner, strdup(text.c_str()), {});
    }
  };
  spell_members(module);
  const nb::dict members = members_of(module);
  for (auto [name, member] : members)
    if (PyType_Check(member.ptr()) != 0 && nb::type_check(member)) spell_members(member);
}

}  // namespace doorbell::python
