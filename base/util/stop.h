// Stops what a thread computes, compiles or waits for: by a std::stop_token of the program, or by a
// check of a language runtime that handles Ctrl-C. Long work calls stop_asked() between kernels,
// between the parts of one kernel and while it waits. When that is true, it fails with an Error of
// kind Timeout, which the tensor API throws as Stopped.
//
//   std::stop_source source;
//   StopScope scope(source.get_token());
//   y.realize();  // throws Stopped soon after source.request_stop()
//
// Thread safety: a scope holds for its own thread; set_stop_check from any.
#pragma once

#include <stop_token>

#include "base/util/error.h"

namespace doorbell {

// Thrown by the tensor API when a computation was stopped. Tensors that it had not begun to compute
// stay unrealized; those that a device was writing have no value, and reading one throws this too.
class Stopped : public Error {
 public:
  using Error::Error;
};

// Stops the work of this thread while the scope lives. Scopes nest: any of them stops it.
class StopScope {
 public:
  explicit StopScope(std::stop_token token);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  friend bool stop_asked();
  const std::stop_token token_;
  const StopScope* const outer_;
};

// Whether this thread should stop. Cheap. Also calls the process's check, which may run the user's
// code: hold no lock that such code may take.
bool stop_asked();

// One check per process, set by the language runtime that handles signals; null: none. It says
// whether the calling thread should stop, and is called often.
using StopCheck = bool (*)();
void set_stop_check(StopCheck check);

}  // namespace doorbell
