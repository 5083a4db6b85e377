// The list of each thread.
#include "tensor/nn/deferred.h"

#include <utility>

#include <absl/container/flat_hash_set.h>

#include "tensor/api/cell.h"

namespace doorbell::nn {

namespace {

struct Deferred {
  std::vector<Tensor> tensors;
  absl::flat_hash_set<const detail::Cell*> cells;  // of `tensors`; looked up only
};
thread_local Deferred deferred;

}  // namespace

void defer(const Tensor& state) {
  if (deferred.cells.insert(&detail::Access::cell(state)).second) deferred.tensors.push_back(state);
}

std::vector<Tensor> take_deferred() {
  deferred.cells.clear();
  return std::exchange(deferred.tensors, {});
}

}  // namespace doorbell::nn
