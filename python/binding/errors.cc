// doorbell::Error as the Python exception of its kind. The classes are doorbell/errors.py's.
#include <nanobind/nanobind.h>

#include "base/util/error.h"
#include "hcq/queue/interrupt.h"
#include "python/binding/module.h"

namespace doorbell::python {

namespace {

void raise(const Error& error) {
  // A wait that Ctrl-C ended: Python has its KeyboardInterrupt already.
  if (PyErr_Occurred() != nullptr) return;
  try {
    nb::object made = nb::module_::import_("doorbell.errors")
                          .attr("make")(nb::str(name(error.kind).data(), name(error.kind).size()),
                                        error.message, error.device, error.os_errno);
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
  } catch (nb::python_error& failed) {
    failed.restore();
  }
}

void translate(const std::exception_ptr& caught, void*) {
  try {
    std::rethrow_exception(caught);
  } catch (const Error& error) {
    raise(error);
  }
}

unsigned long main_thread = 0;

// Between the slices of a long wait. Python looks at signals on its main thread only, so others do
// not ask for the interpreter's lock: whoever has it may wait for a lock that they hold.
bool is_interrupted() {
  if (Py_IsInitialized() == 0 || PyThread_get_thread_ident() != main_thread) return false;
  nb::gil_scoped_acquire locked;
  return PyErr_CheckSignals() != 0;
}

}  // namespace

void define_errors(nb::module_&) {
  nb::register_exception_translator(&translate);
  main_thread = nb::cast<unsigned long>(
      nb::module_::import_("threading").attr("main_thread")().attr("ident"));
  hcq::set_interrupt_check(&is_interrupted);
}

}  // namespace doorbell::python
