// Reads a kernel's declaration, which MSL's attributes describe, and writes what calls it from C++.
#include <fmt/format.h>

#include <charconv>
#include <regex>

#include "base/util/try.h"
#include "emulator/metal/kernel.h"
#include "emulator/metal/stdlib.h"

namespace doorbell::emu::metal {
namespace {

std::string trimmed(std::string text) {
  const usize begin = text.find_first_not_of(" \n");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \n") + 1 - begin);
}

// "device const float* p0 [[buffer(0)]]"
Result<KernelText::Parameter> read_parameter(const std::string& text) {
  static const std::regex& form = *new std::regex(R"(([\s\S]*[\s*&])(\w+)\s*\[\[(.*)\]\])");
  std::smatch match;
  if (!std::regex_match(text, match, form))
    return fail(ErrorKind::Compile, "a kernel's parameter '{}' without an attribute", text);
  return KernelText::Parameter{trimmed(match[1].str()), match[3].str()};
}

}  // namespace

Result<KernelText> read_kernel_text(std::string_view source) {
  const std::string all(source);
  static const std::regex& form =
      *new std::regex(R"((?:\[\[max_total_threads_per_threadgroup\((\d+)\)\]\]\s*)?)"
                      R"(kernel\s+void\s+(\w+)\s*\()");
  std::smatch match;
  if (!std::regex_search(all, match, form))
    return fail(ErrorKind::Compile, "a text without a kernel");
  KernelText text;
  text.name = match[2].str();
  if (match[1].matched) {
    const std::string number = match[1].str();
    std::from_chars(number.data(), number.data() + number.size(), text.max_items);
  }
  const usize begin = static_cast<usize>(match.position() + match.length());
  const usize end = all.find(") {", begin);
  if (end == std::string::npos) return fail(ErrorKind::Compile, "a kernel without a body");
  std::string list = all.substr(begin, end - begin);
  for (usize comma = 0; comma != std::string::npos;) {
    comma = list.find(',');
    TRY(KernelText::Parameter parameter, read_parameter(trimmed(list.substr(0, comma))));
    text.parameters.push_back(std::move(parameter));
    if (comma != std::string::npos) list.erase(0, comma + 1);
  }
  return text;
}

Result<std::string> host_source(std::string_view source, const KernelText& text) {
  // Memory of a group, in a section of its own, so that its size is known.
  static const std::regex& shared = *new std::regex(R"((^|\n)(\s*)threadgroup (\w+ \w+\[))");
  std::string body = std::regex_replace(std::string(source), shared,
                                        "$1$2static __attribute__((section(\"threadgroup\"))) $3");
  static const std::regex& include = *new std::regex(R"(#include <metal_stdlib>)");
  body = std::regex_replace(body, include, "");
  std::string arguments;
  for (const KernelText::Parameter& parameter : text.parameters) {
    arguments += arguments.empty() ? "" : ", ";
    const std::string& attribute = parameter.attribute;
    if (attribute.starts_with("buffer(")) {
      arguments +=
          fmt::format("({})b[{}]", parameter.type, attribute.substr(7, attribute.size() - 8));
    } else if (attribute == "threadgroup_position_in_grid") {
      arguments += "*g";
    } else if (attribute == "thread_position_in_threadgroup") {
      arguments += "*i";
    } else {
      return fail(ErrorKind::Compile, "an attribute [[{}]], which the emulator lacks", attribute);
    }
  }
  return fmt::format(
      "{}{}\nextern \"C\" void doorbell_run(void* const* b, const uint3* g, const uint3* i) {{\n"
      "  {}({});\n}}\n"
      "extern \"C\" {{\n"
      "extern char __start_threadgroup[] __attribute__((weak)), "
      "__stop_threadgroup[] __attribute__((weak));\n"
      "char* doorbell_group_begin() {{ return __start_threadgroup; }}\n"
      "char* doorbell_group_end() {{ return __stop_threadgroup; }}\n}}\n",
      kMetalStdlib, body, text.name, arguments);
}

}  // namespace doorbell::emu::metal
