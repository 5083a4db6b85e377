// Takes the interpreter's lock again, or blocks for ever while the process ends.
#include "python/binding/unlocked.h"

#include <unistd.h>

namespace doorbell::python {

namespace {

// Not noexcept: the interpreter ends the thread by an exception.
[[gnu::noinline]] void lock_or_stay(PyThreadState* state) {
  try {
    PyEval_RestoreThread(state);
  } catch (...) {
    // The process ends soon, and this thread with it. [CPython 3.14, "Threads that attach after
    // finalization hang"]
    while (true) pause();
  }
}

}  // namespace

Unlocked::~Unlocked() { lock_or_stay(state_); }

}  // namespace doorbell::python
