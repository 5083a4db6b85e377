// The part of fmt that headers need: format strings and type-erased arguments, without the
// formatting code. Files that format text include <fmt/format.h> themselves.
#pragma once

#if __has_include(<fmt/base.h>)
#include <fmt/base.h>
#else
#include <fmt/core.h>
#endif

#include <type_traits>

namespace doorbell {

// A format string checked by the compiler, with the file and line where it was written. A function
// that takes one as parameter learns its caller's file and line. __builtin_FILE rather than
// std::source_location: clang 14 lacks it.
template <class... Args>
struct LocatedFormat {
  template <class Text>
    requires std::is_convertible_v<const Text&, fmt::string_view>
  // NOLINTNEXTLINE(google-explicit-constructor): a string literal must convert without a word.
  consteval LocatedFormat(const Text& text, const char* file = __builtin_FILE(),
                          int line = __builtin_LINE())
      : text(text), file(file), line(line) {}

  fmt::format_string<Args...> text;
  const char* file;
  int line;
};

}  // namespace doorbell
