// The observer of each thread.
#include "tensor/api/observer.h"

#include "base/util/error.h"

namespace doorbell::detail {

constinit thread_local Observer* observer = nullptr;

void refuse_in_capture(const char* what) {
  if (observer == nullptr) return;
  throw fail(ErrorKind::Invalid,
             "{} inside a function that jit captures, which later calls would not do again; do it "
             "outside",
             what);
}

}  // namespace doorbell::detail
