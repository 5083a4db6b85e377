// Converts values to the texts of keys.
#include "codegen/compile/kernel_key.h"

#include <fmt/format.h>

#include <concepts>
#include <type_traits>

#include "codegen/compile/build_id.h"
#include "codegen/compile/kernel_identity.h"

namespace doorbell::codegen {

namespace {

template <class T>
std::string fields_text(const T& value);

template <class T>
std::string value_text(const T& value) {
  if constexpr (std::is_array_v<T>) {
    std::string text;
    for (const auto& item : value) text += value_text(item) + ' ';
    return text;
  } else if constexpr (requires { value.to_string(); }) {
    return value.to_string();
  } else if constexpr (std::integral<T>) {
    return fmt::format("{}", value);
  } else if constexpr (std::is_same_v<T, const Plan*>) {
    return value == nullptr ? "none" : '[' + print(*value) + ']';
  } else {
    return '{' + fields_text(value) + '}';
  }
}

template <class T>
std::string fields_text(const T& value) {
  std::string text;
  T::fields(value, [&text](std::string_view name, const auto& field) {
    text += fmt::format("{}={};", name, value_text(field));
  });
  return text;
}

}  // namespace

std::string key_text(const Caps& caps) { return fields_text(caps); }
std::string key_text(const LowerOptions& options) { return fields_text(options); }

CacheKey kernel_key(const core::KernelAst& kernel, const Backend& b, const LowerOptions& options) {
  std::string text;
  // Each part ends in a NUL so that parts do not run together.
  for (const std::string& part : {build_id(), std::string(b.renderer->name()), b.compiler->key(),
                                  key_text(options), key_text(b.caps)}) {
    text.append(part).push_back('\0');
  }
  return make_cache_key(text + kernel_identity(kernel));
}

}  // namespace doorbell::codegen
