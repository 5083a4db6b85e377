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

// The exception that a signal's handler raised during a computation. Kept until the resulting error
// of the computation arrives, because not every stop is reported to the caller. Main thread only.
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

// The interval of checks for signals: short enough for Ctrl-C, long enough not to slow other
// threads that need the interpreter's lock.
constexpr i64 kAskEach_ns = 20'000'000;
i64 asked_at_ns = 0;

i64 now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);  // costs next to nothing
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

// Called between kernels, their parts and the slices of a long wait. Python handles signals on its
// main thread only, so other threads do not take the interpreter's lock: its owner may wait for a
// lock that they hold.
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
