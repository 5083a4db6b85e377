// Walking the parts.
#include "tensor/nn/sequential.h"

namespace doorbell::nn {

Sequential::Sequential(const Sequential& other) {
  for (const std::unique_ptr<Held>& part : other.parts_) parts_.push_back(part->copy());
}

Sequential& Sequential::operator=(Sequential other) noexcept {
  parts_ = std::move(other.parts_);
  return *this;
}

Tensor Sequential::operator()(const Tensor& x) {
  Tensor result = x;
  for (const std::unique_ptr<Held>& part : parts_) result = part->call(result);
  return result;
}

void Sequential::visit(Visitor& visitor) {
  for (usize i = 0; i < parts_.size(); ++i) {
    Place place{parts_[i].get()};
    visitor(std::to_string(i), place);
  }
}

}  // namespace doorbell::nn
