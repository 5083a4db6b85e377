// Ref<T>: an owning handle to a Payload, which counts itself. The count lives in the object
// (core/uop/uop.h), so that a graph node and a Ref can own the same Buffer.
#pragma once

#include <utility>

#include "core/uop/uop.h"

namespace doorbell::core {

template <class T>
class Ref {
 public:
  Ref() = default;
  // Takes one more count.
  explicit Ref(T* object) : object_(object) {
    if (object_) object_->ref();
  }
  Ref(const Ref& other) : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  // Of a derived class.
  template <class U>
  Ref(Ref<U>&& other) noexcept : object_(other.release()) {}  // NOLINT(google-explicit-constructor)
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_) object_->unref();
  }

  T* get() const { return object_; }
  // The caller owns the count.
  [[nodiscard]] T* release() { return std::exchange(object_, nullptr); }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

}  // namespace doorbell::core
