// What went wrong, as one type: below the tensor API an Error is a value inside Result<T>
// (base/util/result.h), at the tensor API the same Error is thrown. A failed CHECK throws
// InternalError (base/util/check.h), which is an Error too, so that a user needs one catch clause.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "base/util/format.h"

namespace doorbell {

enum class ErrorKind {
  Invalid,      // a wrong argument or setting: a shape, a dtype, a DEV string
  NotFound,     // a missing file, device node, symbol or library
  Permission,   // it exists, but access is denied
  Unsupported,  // valid, but this device, build or version cannot do it
  OutOfMemory,  // of the host or of a device
  Corrupt,      // bytes that violate their format
  Compile,      // a compiler rejected generated source
  Timeout,      // a deadline passed: includes hangs
  Busy,         // held by another process or user
  DeviceLost,   // the device failed; others still work
  Os,           // any other error of the operating system: see os_errno
  Internal,     // a bug of this library: a failed CHECK
};

std::string_view name(ErrorKind kind);

// Message: lower case, no full stop, both values ("section 3 is 10 bytes, expected 20").
class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message, int os_errno, const char* file, int line)
      : kind(kind), message(std::move(message)), os_errno(os_errno), file(file), line(line) {}

  const char* what() const noexcept override { return message.c_str(); }

  ErrorKind kind;
  std::string message;
  std::string device;  // name of the device concerned, or empty
  int os_errno;        // 0: not from the operating system
  const char* file;    // where the error was made; a literal
  int line;
};

// A failed CHECK. Not caught inside the library, except to clean up.
class InternalError : public Error {
 public:
  using Error::Error;
};

// "corrupt: section 3 is 10 bytes, expected 20 (base/elf/elf.cc:40)": for logs and test failures.
std::string to_string(const Error& error);

namespace detail {
[[gnu::cold]] Error make_error(ErrorKind kind, int os_errno, fmt::string_view text,
                               fmt::format_args args, const char* file, int line);
ErrorKind kind_of_errno(int os_errno);
// Throws the InternalError for taking the value of a failed Result.
[[noreturn, gnu::cold]] void no_value(const Error& error);
}  // namespace detail

// return fail(ErrorKind::Corrupt, "section {} is {} bytes, expected {}", i, size, expected);
template <class... Args>
[[nodiscard, gnu::cold]] Error fail(ErrorKind kind,
                                    LocatedFormat<std::type_identity_t<Args>...> format,
                                    Args&&... args) {
  return detail::make_error(kind, 0, format.text, fmt::make_format_args(args...), format.file,
                            format.line);
}

// return fail_errno(errno, "open {}", path); appends the system's description of errno and derives
// the kind from it.
template <class... Args>
[[nodiscard, gnu::cold]] Error fail_errno(int os_errno,
                                          LocatedFormat<std::type_identity_t<Args>...> format,
                                          Args&&... args) {
  return detail::make_error(detail::kind_of_errno(os_errno), os_errno, format.text,
                            fmt::make_format_args(args...), format.file, format.line);
}

}  // namespace doorbell
