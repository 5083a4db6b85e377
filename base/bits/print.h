// Prints a record of base/bits/record.h: "WaitRegMem func=GreaterEqual addr=0x100002000 poll=4".
// Numbers above 9 print in hex. An enumerator prints as its name_of(E), found by argument-dependent
// lookup; without one, or where the name is empty, as a number.
#pragma once

#include <string>
#include <string_view>

#include "base/bits/record.h"

namespace doorbell {

namespace detail {

void print_field(std::string& out, std::string_view name, u64 value);
void print_field(std::string& out, std::string_view name, i64 value);
void print_field(std::string& out, std::string_view name, f32 value);
void print_field(std::string& out, std::string_view name, std::string_view value);

// "WaitRegMem", cut out of the compiler's description of this function.
template <class T>
constexpr std::string_view type_name() {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("T = ") + 4);
  text = text.substr(0, text.find_first_of(";]"));
  usize colon = text.rfind(':');
  return colon == std::string_view::npos ? text : text.substr(colon + 1);
}

template <class V>
void print_value(std::string& out, const char* name, const V& value) {
  if constexpr (requires { static_cast<std::string_view>(name_of(value)); }) {
    const auto text = static_cast<std::string_view>(name_of(value));
    if (!text.empty()) return print_field(out, name, text);
  }
  if constexpr (BitClass<V>)
    print_field(out, name, value.bits());
  else if constexpr (std::is_same_v<V, f32>)
    print_field(out, name, value);
  else if constexpr (is_signed_field<V>())
    print_field(out, name, static_cast<i64>(value));
  else
    print_field(out, name, static_cast<u64>(value));
}

}  // namespace detail

template <class T>
std::string print(const T& record) {
  std::string out(detail::type_name<T>());
  T::fields(record, [&](const char* name, Bits, const auto& value, Shift = {}) {
    detail::print_value(out, name, value);
  });
  return out;
}

}  // namespace doorbell
