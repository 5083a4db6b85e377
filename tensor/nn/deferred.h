// State that a forward pass changes beside its result: the running statistics of norms. It waits,
// by thread, for the next optimiser step to be realized together with it. Left lazy from step to
// step it would keep every batch alive.
#pragma once

#include <vector>

#include "tensor/api/tensor.h"

namespace doorbell::nn {

// Once is enough: a tensor that waits already is not added again.
void defer(const Tensor& state);
std::vector<Tensor> take_deferred();

}  // namespace doorbell::nn
