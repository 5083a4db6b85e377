// doorbell::Error as the Python exception of its kind. For the classes see doorbell/errors.py.
#include <nanobind/nanobind.h>

#include <ctime>
#include <string_view>
#include <utility>

#include "base/util/error.h"
#include "base/util/stop.h"
#include "base/util/types.h"
#include "python/binding/module.h"
#include "runtime/progress_bar.h"

namespace doorbell::python {

namespace {

unsigned long main_thread = 0;

// The exception that a signal's handler raised while we computed. Kept until our own error, which
// it caused, comes by: not every end of work is told to whoever called. Of the main thread.
PyObject* stopped_by = nullptr;  // owned

void raise(const Error& error) {
  const bool is_stopped = dynamic_cast<const Stopped*>(&error) != nullptr;
  if (error.kind == ErrorKind::Timeout && stopped_by != nullptr &&
      PyThread_get_thread_ident() == main_thread) {
    const nb::object exception = nb::steal(std::exchange(stopped_by, nullptr));
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
    return;
  }
  try {
    const std::string_view kind = is_stopped ? "stopped" : name(error.kind);
    nb::object made = nb::module_::import_("doorbell.errors")
                          .attr("make")(nb::str(kind.data(), kind.size()), error.message,
                                        error.device, error.os_errno);
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

// How often Python is asked for signals: often enough for whoever pressed Ctrl-C, too seldom to be
// felt by other threads that want the interpreter's lock.
constexpr i64 kAskEach_ns = 20'000'000;
i64 asked_at_ns = 0;

i64 now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);  // costs next to nothing
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

// Between kernels, their parts and the slices of a long wait. Python looks at signals on its main
// thread only, so others do not ask for the interpreter's lock: whoever has it may wait for a lock
// that they hold.
bool asks_stop() {
  if (Py_IsInitialized() == 0 || PyThread_get_thread_ident() != main_thread) return false;
  if (stopped_by != nullptr) return true;
  const i64 now = now_ns();
  if (now - asked_at_ns < kAskEach_ns) return false;
  asked_at_ns = now;
  nb::gil_scoped_acquire locked;
  if (PyErr_CheckSignals() == 0) return false;
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != nullptr) PyException_SetTraceback(value, traceback);
  Py_XDECREF(type);
  Py_XDECREF(traceback);
  stopped_by = value;
  return true;
}

}  // namespace

void define_errors(nb::module_&) {
  nb::register_exception_translator(&translate);
  main_thread = nb::cast<unsigned long>(
      nb::module_::import_("threading").attr("main_thread")().attr("ident"));
  set_stop_check(&asks_stop);
  runtime::prefer_progress();
}

}  // namespace doorbell::python
