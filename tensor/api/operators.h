// The operators of tensors, and the functions behind them: tensor with tensor, tensor with number,
// number with tensor. Included by tensor.h, which declares what they work on.
#pragma once

#include "tensor/api/tensor.h"

namespace doorbell {

Tensor add(const Operand& a, const Operand& b);
Tensor sub(const Operand& a, const Operand& b);
Tensor mul(const Operand& a, const Operand& b);
Tensor div(const Operand& a, const Operand& b);
Tensor mod(const Operand& a, const Operand& b);
Tensor pow(const Operand& a, const Operand& b);
Tensor bitwise_and(const Operand& a, const Operand& b);
Tensor bitwise_or(const Operand& a, const Operand& b);
Tensor bitwise_xor(const Operand& a, const Operand& b);
Tensor shift_left(const Operand& a, const Operand& b);
Tensor shift_right(const Operand& a, const Operand& b);
Tensor less(const Operand& a, const Operand& b);
Tensor less_equal(const Operand& a, const Operand& b);
Tensor equal(const Operand& a, const Operand& b);
Tensor not_equal(const Operand& a, const Operand& b);
Tensor maximum(const Operand& a, const Operand& b);
Tensor minimum(const Operand& a, const Operand& b);
Tensor where(const Tensor& condition, const Operand& yes, const Operand& no);

template <class A, class B>
concept OperandPair =
    (std::is_base_of_v<Tensor, A> && (std::is_base_of_v<Tensor, B> || std::is_arithmetic_v<B>)) ||
    (std::is_arithmetic_v<A> && std::is_base_of_v<Tensor, B>);

template <class A, class B>
  requires OperandPair<A, B>
Tensor operator+(const A& a, const B& b) {
  return add(a, b);
}
template <class A, class B>
  requires OperandPair<A, B>
Tensor operator-(const A& a, const B& b) {
  return sub(a, b);
}
template <class A, class B>
  requires OperandPair<A, B>
Tensor operator*(const A& a, const B& b) {
  return mul(a, b);
}
template <class A, class B>
  requires OperandPair<A, B>
Tensor operator/(const A& a, const B& b) {
  return div(a, b);
}
template <class A, class B>
  requires OperandPair<A, B>
Tensor operator%(const A& a, const B& b) {
  return mod(a, b);
}
template <class A, class B>
  requires OperandPair<A, B>
Tensor operator&(const A& a, const B& b) {
  return bitwise_and(a, b);
}
template <class A, class B>
  requires OperandPair<A, B>
Tensor operator|(const A& a, const B& b) {
  return bitwise_or(a, b);
}
template <class A, class B>
  requires OperandPair<A, B>
Tensor operator^(const A& a, const B& b) {
  return bitwise_xor(a, b);
}
template <class A, class B>
  requires OperandPair<A, B>
Tensor operator<(const A& a, const B& b) {
  return less(a, b);
}
template <class A, class B>
  requires OperandPair<A, B>
Tensor operator>(const A& a, const B& b) {
  return less(b, a);
}
template <class A, class B>
  requires OperandPair<A, B>
Tensor operator<=(const A& a, const B& b) {
  return less_equal(a, b);
}
template <class A, class B>
  requires OperandPair<A, B>
Tensor operator>=(const A& a, const B& b) {
  return less_equal(b, a);
}
template <class A, class B>
  requires OperandPair<A, B>
Tensor operator==(const A& a, const B& b) {
  return equal(a, b);
}
template <class A, class B>
  requires OperandPair<A, B>
Tensor operator!=(const A& a, const B& b) {
  return not_equal(a, b);
}
template <class A, class B>
  requires OperandPair<A, B>
Tensor operator<<(const A& a, const B& b) {
  return shift_left(a, b);
}
template <class A, class B>
  requires OperandPair<A, B>
Tensor operator>>(const A& a, const B& b) {
  return shift_right(a, b);
}
inline Tensor operator-(const Tensor& a) { return a.neg(); }
inline Tensor operator+(const Tensor& a) { return a; }
inline Tensor operator~(const Tensor& a) { return a.bitwise_not(); }
inline Tensor operator!(const Tensor& a) { return a.logical_not(); }

}  // namespace doorbell
