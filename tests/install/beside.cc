// The public headers beside another library's macros and a program's own folders: included after
// the other library (BESIDE names its header) or, with -DBESIDE_LAST, before it. OWN includes the
// program's base/util/types.h and core/core.h. Both sides' CHECK and names keep their meaning.
#ifndef BESIDE_LAST
#include BESIDE
#endif

#include <doorbell/doorbell.h>
#include <doorbell/extension.h>

#ifdef BESIDE_LAST
#include BESIDE
#endif

#include OWN

int uses_both() {
  static_assert(base::util::kOwn && core::kOwn);
  use_of_other();
  const doorbell::Tensor x = doorbell::Tensor::of({1.0, 2.0});
  return static_cast<int>((x + x).numel());
}
