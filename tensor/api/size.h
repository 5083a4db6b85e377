// Sizes as the user sees them: Size owns a constant or an index expression of Variables, Shape is a
// short vector of them. The graph's own borrowed form is core::Dim; what shapes mean for the ops is
// core's shape inference.
#pragma once

#include <compare>
#include <initializer_list>
#include <iosfwd>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <absl/container/inlined_vector.h>

#include "core/uop/graph.h"

namespace doorbell {

// A size, constant or symbolic.
class Size {
 public:
  Size() = default;
  template <class T>
    requires std::is_integral_v<T>
  // NOLINTNEXTLINE(google-explicit-constructor): `x.reshape({2, n})` with any integer.
  Size(T value) : value_(static_cast<i64>(value)) {}
  explicit Size(core::Dim dim);
  explicit Size(core::UOpRef expression);

  bool is_const() const { return !expression_; }
  // The constant. Throws Error for a symbolic size, which it names.
  i64 value() const;
  i64 max() const { return is_const() ? value_ : expression_->vmax(); }
  i64 min() const { return is_const() ? value_ : expression_->vmin(); }
  // Whether it is this constant, whatever is bound.
  bool is(i64 value) const { return is_const() && value_ == value; }
  // The expression, made of the constant where need be; dtype Index.
  core::UOpRef expression() const;

  // Two sizes are equal where they are for every value of their Variables: equal constants or the
  // same expression, so that shapes that are equal now stay equal.
  friend bool operator==(const Size& a, const Size& b) {
    return a.value_ == b.value_ && a.expression_ == b.expression_;
  }
  // Equals the number that it is now, as its Variables are bound; none where one is bound to
  // nothing.
  template <class T>
    requires std::is_integral_v<T>
  friend bool operator==(const Size& a, T number) {
    return std::in_range<i64>(number) && a.is_now(static_cast<i64>(number));
  }
  // By the bounds, where they decide for every value; else by the numbers that they are now.
  // Equivalent sizes may be different ones: n bound to 3 is neither less nor greater than 3, nor
  // than m bound to 3. Throws Error where it needs the number of a Variable that is bound to
  // nothing.
  friend std::weak_ordering operator<=>(const Size& a, const Size& b);
  friend Size operator+(const Size& a, const Size& b);
  friend Size operator-(const Size& a, const Size& b);
  friend Size operator*(const Size& a, const Size& b);
  // Rounds to minus infinity.
  friend Size operator/(const Size& a, const Size& b);
  friend Size operator%(const Size& a, const Size& b);

  std::string str() const;

 private:
  bool is_now(i64 number) const;

  core::UOpRef expression_;  // null for a constant
  i64 value_ = 0;            // 0 for an expression
};

// Rounds to plus infinity; the divisor is positive.
Size ceil_div(const Size& a, const Size& b);

class Shape : public absl::InlinedVector<Size, 4> {
 public:
  Shape() = default;
  Shape(std::initializer_list<Size> sizes) : InlinedVector(sizes) {}
  // NOLINTNEXTLINE(google-explicit-constructor): computed sizes are shapes too.
  Shape(const std::vector<i64>& sizes) : InlinedVector(sizes.begin(), sizes.end()) {}
  Shape(usize rank, const Size& size) : InlinedVector(rank, size) {}
  template <class Iterator>
    requires(!std::is_integral_v<Iterator>)
  Shape(Iterator first, Iterator last) : InlinedVector(first, last) {}

  bool is_const() const;
  Size numel() const;
  // All sizes as numbers. Throws Error where one is symbolic.
  std::vector<i64> values() const;
  std::string str() const;  // "(2, 3)"
};

std::ostream& operator<<(std::ostream& os, const Size& size);
std::ostream& operator<<(std::ostream& os, const Shape& shape);

// A named integer that is given at run time; kernels are compiled once for all its values.
//
//   Variable length("length", 1, 1024);
//   Tensor y = x[{Slice(0, length.bind(77))}];
class Variable {
 public:
  // From min to max, both included.
  Variable(std::string_view name, i64 min, i64 max);
  // The size that has this value now. Throws Error when it is out of bounds.
  Size bind(i64 value) const;
  i64 min() const { return min_; }
  i64 max() const { return max_; }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  i64 min_, max_;
  core::UOpRef node_;
};

}  // namespace doorbell
