// Abacus as a device kind of Doorbell: the one call that a program makes to have it.
#pragma once

#include "base/util/result.h"

namespace doorbell::abacus {

// Before the first tensor. DEV=ABACUS makes it the default device; Tensor::to("ABACUS") goes there.
Result<void> add_abacus();

}  // namespace doorbell::abacus
