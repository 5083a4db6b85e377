// The formatting of fields, once for all records.
#include "base/bits/print.h"

#include <iterator>

#include <fmt/format.h>

namespace doorbell::detail {

void print_field(std::string& out, std::string_view name, u64 value) {
  if (value < 10)
    fmt::format_to(std::back_inserter(out), " {}={}", name, value);
  else
    fmt::format_to(std::back_inserter(out), " {}={:#x}", name, value);
}

void print_field(std::string& out, std::string_view name, i64 value) {
  fmt::format_to(std::back_inserter(out), " {}={}", name, value);
}

void print_field(std::string& out, std::string_view name, f32 value) {
  fmt::format_to(std::back_inserter(out), " {}={}", name, value);
}

void print_field(std::string& out, std::string_view name, std::string_view value) {
  fmt::format_to(std::back_inserter(out), " {}={}", name, value);
}

}  // namespace doorbell::detail
