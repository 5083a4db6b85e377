// The failing side of CHECK, out of line so that the passing side stays small.
#include "base/util/check.h"

#include <fmt/format.h>

#include "base/util/error.h"

namespace doorbell::detail {

namespace {

[[noreturn]] void raise(const char* file, int line, std::string message) {
  throw InternalError(ErrorKind::Internal, std::move(message), 0, file, line);
}

}  // namespace

void check_failed(const char* file, int line, const char* expression) {
  raise(file, line, fmt::format("{}:{}: check failed: {}", file, line, expression));
}

void check_failed_with(const char* file, int line, const char* expression, fmt::string_view text,
                       fmt::format_args args) {
  raise(
      file, line,
      fmt::format("{}:{}: check failed: {}: {}", file, line, expression, fmt::vformat(text, args)));
}

void compare_failed(const char* file, int line, const char* expression, const std::string& a,
                    const std::string& b) {
  raise(file, line,
        fmt::format("{}:{}: check failed: {} ({} against {})", file, line, expression, a, b));
}

std::string format_one(fmt::format_args args) { return fmt::vformat("{}", args); }

}  // namespace doorbell::detail
