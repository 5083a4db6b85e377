// Taking the interpreter's lock again, or staying away from it for good.
#include "python/binding/unlocked.h"

#include <unistd.h>

namespace doorbell::python {

namespace {

// Not noexcept: what ends the thread comes as something thrown.
[[gnu::noinline]] void lock_or_stay(PyThreadState* state) {
  try {
    PyEval_RestoreThread(state);
  } catch (...) {
    // The process ends within moments, and this thread with it. [CPython 3.14, "Threads that attach
    // after finalization hang"]
    while (true) pause();
  }
}

}  // namespace

Unlocked::~Unlocked() { lock_or_stay(state_); }

}  // namespace doorbell::python
