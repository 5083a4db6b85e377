// `doorbell manual FOLDER`: the manual pages, one for each command, made from the command tree.
// Hidden: the build runs it, and installs what it writes.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>

#include "base/os/host.h"
#include "tools/doorbell/command_tree.h"
#include "tools/doorbell/commands.h"
#include "tools/doorbell/or_throw.h"

namespace doorbell::tools {
namespace {

// Escapes text for troff, which takes lines that begin with a dot or a quote as requests.
std::string roff(std::string_view text) {
  std::string out;
  bool is_start = true;
  for (const char c : text) {
    if (is_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
    is_start = c == '\n';
  }
  return out;
}

std::string value_of(const OptionText& option) {
  return option.value.empty() ? "" : fmt::format(" \\fI{}\\fR", roff(option.value));
}

std::string option_entry(const OptionText& option) {
  std::string names;
  for (const std::string& name : option.names)
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", roff(name));
  if (option.names.empty()) names = fmt::format("\\fI{}\\fR", roff(option.value));
  return fmt::format(".TP\n{}{}\n{}\n", names, option.names.empty() ? "" : value_of(option),
                     roff(option.description));
}

std::string synopsis(const Command& command) {
  std::string text = fmt::format("\\fB{}\\fR", roff(command.name()));
  if (!command.options.empty()) text += " [\\fIOPTION\\fR]...";
  if (!command.commands.empty()) text += " \\fICOMMAND\\fR ...";
  if (command.runs_program()) text += " \\fB\\-\\-\\fR";
  for (const OptionText& argument : command.arguments)
    text += fmt::format(" {}\\fI{}\\fR{}{}", argument.is_required ? "" : "[", roff(argument.value),
                        argument.is_required ? "" : "]", argument.is_many ? "..." : "");
  return text;
}

std::string section(const char* name, const std::vector<OptionText>& options) {
  std::string text = options.empty() ? "" : fmt::format(".SH {}\n", name);
  for (const OptionText& option : options) text += option_entry(option);
  return text;
}

std::string page(const Command& command, const std::vector<const Command*>& all) {
  std::string text = fmt::format(".TH \"{}\" \"1\" \"\" \"doorbell {}\" \"Doorbell\"\n",
                                 roff(command.name("-")), DOORBELL_VERSION);
  text += fmt::format(".SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}\n", roff(command.name("-")),
                      roff(command.description), synopsis(command));
  if (!command.commands.empty()) text += ".SH COMMANDS\n";
  for (const Command& below : command.commands)
    text += fmt::format(".TP\n\\fB{}\\fR(1)\n{}\n", roff(below.name("-")), roff(below.description));
  text += section("ARGUMENTS", command.arguments) + section("OPTIONS", command.options);
  if (!command.footer.empty())
    text += fmt::format(".SH NOTES\n.nf\n{}\n.fi\n", roff(command.footer));
  std::string others;
  for (const Command* other : all)
    if (other != &command)
      others += fmt::format("{}\\fB{}\\fR(1)", others.empty() ? "" : ",\n", roff(other->name("-")));
  return text + ".SH SEE ALSO\n" + others + "\n";
}

int run(const CLI::App& app, const std::string& folder) {
  const Command root = describe_command(app);
  const std::vector<const Command*> all = all_commands(root);
  for (const Command* command : all) {
    const std::string path = (std::filesystem::path(folder) / (command->name("-") + ".1")).string();
    const std::string text = page(*command, all);
    const std::span<const u8> bytes(reinterpret_cast<const u8*>(text.data()), text.size());
    or_throw(os::replace_file(os::host_files(), path, bytes, os::host_random().next()));
  }
  return 0;
}

}  // namespace

void add_manual(CLI::App* app, int* status) {
  CLI::App* command = app->add_subcommand("manual", "Write the manual pages into a folder");
  command->group("");
  auto folder = std::make_shared<std::string>();  // owned by the parser and the callback
  command->add_option("folder", *folder, "Where")->required();
  command->callback([app, folder, status] { *status = run(*app, *folder); });
}

}  // namespace doorbell::tools
