// Starting a process and reading its last line.
#include "bench/support/child.h"

#include <limits>

#include "base/os/process.h"
#include "base/util/try.h"
#include "tools/measure/measure.h"

namespace doorbell::bench {

Result<nlohmann::json> run_for_json(const std::vector<std::string>& command) {
  TRY(os::ProcessOutput output, os::run_process(command));
  if (output.exit_status != 0) {
    std::string words = output.error_out.empty() ? output.out : output.error_out;
    constexpr usize kMax = 2000;  // the end of a stack trace has the cause
    if (words.size() > kMax) words = "..." + words.substr(words.size() - kMax);
    return fail(ErrorKind::Os, "{} ended with status {}: {}", command[0], output.exit_status,
                words);
  }
  std::string text = output.out;
  nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_discarded()) return json;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const usize line = text.rfind('\n');
  const std::string last = line == std::string::npos ? text : text.substr(line + 1);
  json = nlohmann::json::parse(last, nullptr, false);
  if (json.is_discarded())
    return fail(ErrorKind::Corrupt, "{} printed no JSON but: {}", command[0], last);
  return json;
}

Result<nlohmann::json> run_self(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), tools::own_path());
  return run_for_json(arguments);
}

f64 number(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) return std::numeric_limits<f64>::quiet_NaN();
  return found->get<f64>();
}

}  // namespace doorbell::bench
