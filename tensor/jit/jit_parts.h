// The tensors and sizes within the arguments or results of a jitted function: found in tensors,
// sizes, vectors, arrays, tuples, pairs and structs with visit().
//
// Not for users.
#pragma once

#include <array>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <absl/container/inlined_vector.h>

#include "tensor/api/tensor.h"
#include "tensor/nn/module.h"

namespace doorbell::detail {

// The tensors and sizes within a value, in a fixed order, and what else tells two values apart.
struct JitParts {
  absl::InlinedVector<Tensor*, 8> tensors;
  absl::InlinedVector<Size, 2> sizes;
  absl::InlinedVector<usize, 8> lengths;  // of vectors
};

// Inlined, because a call costs less than a few allocations.
using JitOutputs = absl::InlinedVector<Tensor, 4>;

template <class T>
concept Visitable = requires(T& value, nn::Visitor& visitor) { value.visit(visitor); };

template <class T>
struct JitWalk {
  static constexpr bool kKnown = Visitable<T>;
  static void walk(T& value, JitParts& parts) {
    nn::Visitor visitor(
        [&](const std::string&, Tensor& tensor) { parts.tensors.push_back(&tensor); });
    const usize before = parts.tensors.size();
    value.visit(visitor);
    parts.lengths.push_back(parts.tensors.size() - before);
  }
};
template <>
struct JitWalk<Tensor> {
  static constexpr bool kKnown = true;
  static void walk(Tensor& value, JitParts& parts) { parts.tensors.push_back(&value); }
};
template <>
struct JitWalk<Size> {
  static constexpr bool kKnown = true;
  static void walk(Size& value, JitParts& parts) { parts.sizes.push_back(value); }
};
template <class T>
struct JitWalk<std::vector<T>> {
  static constexpr bool kKnown = JitWalk<T>::kKnown;
  static void walk(std::vector<T>& value, JitParts& parts) {
    parts.lengths.push_back(value.size());
    for (T& item : value) JitWalk<T>::walk(item, parts);
  }
};
template <class T, usize N>
struct JitWalk<std::array<T, N>> {
  static constexpr bool kKnown = JitWalk<T>::kKnown;
  static void walk(std::array<T, N>& value, JitParts& parts) {
    for (T& item : value) JitWalk<T>::walk(item, parts);
  }
};
template <class... T>
struct JitWalk<std::tuple<T...>> {
  static constexpr bool kKnown = (JitWalk<T>::kKnown && ...);
  static void walk(std::tuple<T...>& value, JitParts& parts) {
    std::apply([&](T&... item) { (JitWalk<T>::walk(item, parts), ...); }, value);
  }
};
template <class A, class B>
struct JitWalk<std::pair<A, B>> {
  static constexpr bool kKnown = JitWalk<A>::kKnown && JitWalk<B>::kKnown;
  static void walk(std::pair<A, B>& value, JitParts& parts) {
    JitWalk<A>::walk(value.first, parts);
    JitWalk<B>::walk(value.second, parts);
  }
};

// Values, and what x[...] gives as the tensor that it is.
template <class T>
using JitValue =
    std::conditional_t<std::is_base_of_v<Tensor, std::decay_t<T>>, Tensor, std::decay_t<T>>;
struct JitNothing {};
template <>
struct JitWalk<JitNothing> {
  static constexpr bool kKnown = true;
  static void walk(JitNothing&, JitParts&) {}
};
template <class T>
using JitResult = std::conditional_t<std::is_void_v<T>, JitNothing, JitValue<T>>;

template <class... T>
inline constexpr char kJitSignature = 0;  // its address tells signatures apart

}  // namespace doorbell::detail
