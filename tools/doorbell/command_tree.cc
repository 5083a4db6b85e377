// Reading CLI11's applications and options.
#include "tools/doorbell/command_tree.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/util/types.h"

namespace doorbell::tools {
namespace {

// CLI11 writes a set of values into the name of the type: "TEXT:{pm4,sdma}".
std::vector<std::string> values_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const usize begin = type.rfind('{'), end = type.rfind('}');
  std::vector<std::string> values;
  if (begin == type.npos || end == type.npos || end < begin) return values;
  for (const std::string& value : CLI::detail::split(type.substr(begin + 1, end - begin - 1), ','))
    values.push_back(value.substr(0, value.find("->")));
  return values;
}

OptionText describe_option(const CLI::Option& option) {
  OptionText text;
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  text.description = option.get_description();
  text.is_required = option.get_required();
  text.is_many = option.get_items_expected_max() > 1;
  text.values = values_of(option);
  if (option.get_items_expected_max() == 0) return text;
  if (!option.get_option_text().empty()) {
    text.value = option.get_option_text();
  } else if (!text.values.empty()) {
    text.value = fmt::format("{}", fmt::join(text.values, "|"));
  } else {
    const std::string type = option.get_type_name();
    text.value = type.substr(0, type.find(':'));
  }
  return text;
}

}  // namespace

std::string Command::name(const char* between) const {
  return fmt::format("{}", fmt::join(path, between));
}

bool Command::runs_program() const {
  return !arguments.empty() && arguments.back().value == "command";
}

Command describe_command(const CLI::App& app, std::vector<std::string> above) {
  Command command;
  above.push_back(app.get_name());
  command.path = above;
  command.description = app.get_description();
  command.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    OptionText text = describe_option(*option);
    if (option->get_positional()) {
      // An argument's name takes the position of an option's names.
      text.value = option->get_name(true);
      command.arguments.push_back(std::move(text));
    } else {
      command.options.push_back(std::move(text));
    }
  }
  for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!below->get_group().empty()) command.commands.push_back(describe_command(*below, above));
  return command;
}

std::vector<const Command*> all_commands(const Command& root) {
  std::vector<const Command*> all{&root};
  for (const Command& below : root.commands)
    for (const Command* one : all_commands(below)) all.push_back(one);
  return all;
}

}  // namespace doorbell::tools
