// What a failed check does, and checks for headers that users include: only prefixed macros, which
// do not collide with glog's, Catch2's or a user's CHECK. For the short names see
// base/util/check.h.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "base/util/format.h"

#define DOORBELL_CHECK(condition, ...) \
  DOORBELL_CHECK_AS(condition, #condition __VA_OPT__(, ) __VA_ARGS__)

#define DOORBELL_CHECK_AS(condition, ...) \
  (static_cast<bool>(condition)           \
       ? void()                           \
       : ::doorbell::detail::check_failed(__FILE__, __LINE__, __VA_ARGS__))

#ifdef NDEBUG
// The operands are compiled but not evaluated, so that they stay valid and count as used.
#define DOORBELL_DCHECK(condition, ...) \
  (true ? void() : DOORBELL_CHECK_AS(condition, #condition __VA_OPT__(, ) __VA_ARGS__))
#else
#define DOORBELL_DCHECK(condition, ...) \
  DOORBELL_CHECK_AS(condition, #condition __VA_OPT__(, ) __VA_ARGS__)
#endif

#define DOORBELL_CHECK_COMPARE(comparison, op, a, b)                             \
  ::doorbell::detail::check_compare<::doorbell::detail::Comparison::comparison>( \
      (a), (b), __FILE__, __LINE__, #a " " #op " " #b)

namespace doorbell::detail {

[[noreturn, gnu::cold]] void check_failed(const char* file, int line, const char* expression);
[[noreturn, gnu::cold]] void check_failed_with(const char* file, int line, const char* expression,
                                               fmt::string_view text, fmt::format_args args);
[[noreturn, gnu::cold]] void compare_failed(const char* file, int line, const char* expression,
                                            const std::string& a, const std::string& b);

template <class... Args>
[[noreturn, gnu::cold, gnu::noinline]] void check_failed(
    const char* file, int line, const char* expression,
    fmt::format_string<std::type_identity_t<Args>...> text, Args&&... args) {
  check_failed_with(file, line, expression, text, fmt::make_format_args(args...));
}

enum class Comparison { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual };

// Integers that std::cmp_less takes: comparing a size with a literal must not warn about signs.
template <class T>
concept PlainInteger =
    std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char> &&
    !std::is_same_v<T, wchar_t> && !std::is_same_v<T, char8_t> && !std::is_same_v<T, char16_t> &&
    !std::is_same_v<T, char32_t>;

template <Comparison kind, class A, class B>
constexpr bool compare(const A& a, const B& b) {
  if constexpr (PlainInteger<A> && PlainInteger<B>) {
    if constexpr (kind == Comparison::Equal) return std::cmp_equal(a, b);
    if constexpr (kind == Comparison::NotEqual) return std::cmp_not_equal(a, b);
    if constexpr (kind == Comparison::Less) return std::cmp_less(a, b);
    if constexpr (kind == Comparison::LessEqual) return std::cmp_less_equal(a, b);
    if constexpr (kind == Comparison::Greater) return std::cmp_greater(a, b);
    if constexpr (kind == Comparison::GreaterEqual) return std::cmp_greater_equal(a, b);
  } else {
    if constexpr (kind == Comparison::Equal) return a == b;
    if constexpr (kind == Comparison::NotEqual) return a != b;
    if constexpr (kind == Comparison::Less) return a < b;
    if constexpr (kind == Comparison::LessEqual) return a <= b;
    if constexpr (kind == Comparison::Greater) return a > b;
    if constexpr (kind == Comparison::GreaterEqual) return a >= b;
  }
}

[[gnu::cold]] std::string format_one(fmt::format_args args);

template <class T>
[[gnu::cold, gnu::noinline]] std::string describe(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    auto number = static_cast<long long>(value);
    return format_one(fmt::make_format_args(number));
  } else if constexpr (std::is_pointer_v<T>) {
    auto pointer = static_cast<const void*>(value);
    return format_one(fmt::make_format_args(pointer));
  } else if constexpr (fmt::is_formattable<T>::value) {
    return format_one(fmt::make_format_args(value));
  } else {
    return "?";
  }
}

template <Comparison kind, class A, class B>
constexpr void check_compare(const A& a, const B& b, const char* file, int line,
                             const char* expression) {
  if (!compare<kind>(a, b)) [[unlikely]]
    compare_failed(file, line, expression, describe(a), describe(b));
}

}  // namespace doorbell::detail
