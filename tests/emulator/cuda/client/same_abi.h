// Whether functions are called alike on x86-64 and ARM64: as many arguments, pointers and handles
// where the other has numbers of their size.
#pragma once

#include <type_traits>

template <class A, class B>
inline constexpr bool same_argument =
    sizeof(A) == sizeof(B) && std::is_floating_point_v<A> == std::is_floating_point_v<B>;

template <class A, class B>
inline constexpr bool same_abi = false;
template <class ResultA, class... A, class ResultB, class... B>
  requires(sizeof...(A) == sizeof...(B))
inline constexpr bool same_abi<ResultA (*)(A...), ResultB (*)(B...)> =
    sizeof(ResultA) == sizeof(ResultB) && (same_argument<A, B> && ...);
