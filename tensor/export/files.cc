// Identifiers of C, which those of JavaScript are too.
#include "tensor/export/files.h"

#include <set>
#include <span>

#include "base/os/host.h"
#include "tensor/engine/must.h"

namespace doorbell::detail {

namespace {

void check_identifier(const std::string& name, const char* what) {
  static constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  if (name.empty() || (name[0] >= '0' && name[0] <= '9') ||
      name.find_first_not_of(kLetters) != std::string::npos)
    throw fail(ErrorKind::Invalid, "{} '{}' of an export is no C identifier", what, name);
}

}  // namespace

void check_names(const ExportedFunction& function, const ExportOptions& options) {
  check_identifier(options.name, "name");
  std::set<std::string> names{"self"};  // what the generated function calls its object
  const auto take = [&](const std::string& name, const char* what) {
    check_identifier(name, what);
    if (!names.insert(name).second)
      throw fail(ErrorKind::Invalid, "{} '{}' of an export is there twice", what, name);
  };
  for (const auto& value : function.arguments) take(value.name, "argument");
  for (const auto& output : function.outputs) take(output.value.name, "result");
  for (const std::string& name : function.variables) take(name, "variable");
  if (options.arguments.size() > function.arguments.size() ||
      options.results.size() > function.outputs.size()) {
    throw fail(ErrorKind::Invalid,
               "names for {} arguments and {} results of an export that has {} and {}",
               options.arguments.size(), options.results.size(), function.arguments.size(),
               function.outputs.size());
  }
}

void write_text(const std::string& path, std::string_view text) {
  const auto* bytes = reinterpret_cast<const u8*>(text.data());
  engine::must(os::replace_file(os::host_files(), path, std::span(bytes, text.size()),
                                os::host_random().next()));
}

}  // namespace doorbell::detail
