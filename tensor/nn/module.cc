// Loading of named tensors: everything is checked before anything is changed.
#include "tensor/nn/module.h"

#include <absl/container/flat_hash_set.h>
#include <fmt/format.h>

#include "tensor/api/cell.h"

namespace doorbell::nn {

namespace {

constexpr usize kMaxNamed = 20;

// "; missing: a, b, and 3 more"
std::string listed(const char* what, const std::vector<std::string>& names) {
  if (names.empty()) return "";
  std::string text = fmt::format("; {}: ", what);
  for (usize i = 0; i < std::min(names.size(), kMaxNamed); ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kMaxNamed) text += fmt::format(", and {} more", names.size() - kMaxNamed);
  return text;
}

}  // namespace

std::vector<Tensor> parameters_among(const NamedTensors& state) {
  std::vector<Tensor> parameters;
  absl::flat_hash_set<const detail::Cell*> known;
  for (const auto& [name, tensor] : state) {
    if (tensor.is_leaf() && known.insert(detail::Access::cell_untraced(tensor)).second)
      parameters.push_back(tensor);
  }
  return parameters;
}

void TensorCopies::operator()(const std::string& name, Tensor& tensor) {
  for (usize i = 0; i < from_.size(); ++i) {
    if (detail::Access::cell_untraced(from_[i].second) != detail::Access::cell_untraced(tensor))
      continue;
    tensor = to_[i].second;
    return;
  }
  from_.emplace_back(name, tensor);
  Tensor copy = tensor.detach().clone();
  if (tensor.is_leaf()) copy.requires_grad();
  tensor = copy;
  to_.emplace_back(name, std::move(copy));
}

LoadResult load_into(const NamedTensors& into, const NamedTensors& from,
                     const LoadOptions& options) {
  std::map<std::string, Tensor> given(from.begin(), from.end());
  LoadResult result;
  std::vector<std::string> wrong;
  std::vector<std::pair<Tensor, Tensor>> assignments;
  for (const auto& [name, place] : into) {
    auto found = given.find(name);
    if (found == given.end()) {
      result.missing_keys.push_back(name);
      continue;
    }
    const Tensor& value = found->second;
    if (value.shape() != place.shape()) {
      wrong.push_back(fmt::format("{} has shape {}, expected {}", name, value.shape().str(),
                                  place.shape().str()));
    } else if (wrong.empty()) {
      assignments.emplace_back(place, value.detach().cast(place.dtype()).shard_like(place));
    }
    given.erase(found);
  }
  for (const auto& [name, tensor] : from)
    if (given.erase(name) != 0) result.unexpected_keys.push_back(name);
  const bool incomplete = !result.missing_keys.empty() || !result.unexpected_keys.empty();
  if (!wrong.empty() || (options.strict && incomplete)) {
    std::string text = listed("tensors that do not fit", wrong);
    if (options.strict)
      text += listed("missing", result.missing_keys) + listed("unexpected", result.unexpected_keys);
    throw fail(ErrorKind::Invalid, "a state that does not fit the model{}", text);
  }
  NoGradScope no_grad;
  for (auto& [place, value] : assignments) place.assign(value);
  return result;
}

}  // namespace doorbell::nn
