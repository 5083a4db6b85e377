// Unlocked: a scope without the interpreter's lock.
#pragma once

#include <Python.h>

namespace doorbell::python {

// As Unlocked, but blocks the thread if the program ends meanwhile: the interpreter would end it by
// unwinding its stack, which would make C++ abort the process.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  ~Unlocked();
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* const state_;
};

}  // namespace doorbell::python
