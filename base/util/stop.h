// Stopping what a thread computes, compiles or waits for: by a std::stop_token of the program's, or
// by a check of a language's runtime that handles Ctrl-C. Long work asks stop_asked() now and then,
// between kernels, between the parts of one and while it waits, and then fails: with an Error of
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

// What the tensor API throws where a computation was stopped. Tensors that it was to compute are as
// before, or, where they were on their way on a device, have no value: reading one throws this too.
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

// Whether this thread should stop. Cheap. Asks the process's check too, which may run code of the
// user's: no lock is held that such code may want.
bool stop_asked();

// One for the process, of whichever runtime handles signals; null: none. It says whether the
// calling thread should stop, and may be asked often.
using StopCheck = bool (*)();
void set_stop_check(StopCheck check);

}  // namespace doorbell
