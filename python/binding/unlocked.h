// Unlocked: a scope without the interpreter's lock.
#pragma once

#include <Python.h>

namespace doorbell::python {

// As Unlocked, but the thread of a program that ends meanwhile stays where it is: the
// interpreter ends such threads by unwinding their stacks, which C++ answers by ending the process.
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
