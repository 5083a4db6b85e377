// Reads the lines and finds their cases.
#include "conformance/exceptions.h"

#include <regex>

#include "base/util/try.h"

namespace doorbell::conformance {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view trimmed(std::string_view text) {
  const usize first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

Result<void> except_line(Suite* suite, std::string_view line, std::string_view file, i64 number) {
  const usize end = std::min(line.find_first_of(kBlanks), line.size());
  const std::string pattern(line.substr(0, end));
  const std::string_view reason = trimmed(line.substr(end));
  if (reason.empty())
    return fail(ErrorKind::Invalid, "{}:{}: no reason after '{}'", file, number, pattern);
  std::regex expression;
  try {
    expression = std::regex(pattern, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error& error) {
    return fail(ErrorKind::Invalid, "{}:{}: '{}' is no regular expression: {}", file, number,
                pattern, error.what());
  }
  bool found = false;
  for (const std::unique_ptr<Batch>& batch : suite->batches()) {
    for (Case& one : batch->cases) {
      if (!std::regex_search(one.name, expression)) continue;
      found = true;
      one.exception = reason;
    }
  }
  if (!found)
    return fail(ErrorKind::NotFound, "{}:{}: no case has '{}' in its name", file, number, pattern);
  return {};
}

}  // namespace

Result<void> except(Suite* suite, std::string_view text, std::string_view file) {
  for (i64 number = 1; !text.empty(); ++number) {
    const usize end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line[0] == '#') continue;
    TRY(except_line(suite, line, file, number));
  }
  return {};
}

}  // namespace doorbell::conformance
