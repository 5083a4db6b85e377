// Loading of named tensors: everything is checked before anything is changed.
#include "tensor/nn/module.h"

namespace doorbell::nn {

void load_into(const NamedTensors& into, const NamedTensors& from, const LoadOptions& options) {
  std::map<std::string, Tensor> given(from.begin(), from.end());
  std::vector<std::pair<Tensor, Tensor>> assignments;
  for (const auto& [name, place] : into) {
    auto found = given.find(name);
    if (found == given.end()) {
      if (options.strict) throw fail(ErrorKind::NotFound, "no tensor named {} to load", name);
      continue;
    }
    if (found->second.shape() != place.shape()) {
      throw fail(ErrorKind::Invalid, "tensor {} has shape {}, expected {}", name,
                 found->second.shape().str(), place.shape().str());
    }
    assignments.emplace_back(place, found->second.cast(place.dtype()).to(place.device()));
    given.erase(found);
  }
  if (options.strict && !given.empty()) {
    throw fail(ErrorKind::Invalid, "the model has no tensor named {}", given.begin()->first);
  }
  NoGradScope no_grad;
  for (auto& [place, value] : assignments) place.assign(value);
}

}  // namespace doorbell::nn
