// `doorbell completion bash|zsh|fish`: a shell's completion of `doorbell` command lines, made from
// the command tree.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>

#include "tools/doorbell/command_tree.h"
#include "tools/doorbell/commands.h"

namespace doorbell::tools {
namespace {

std::vector<std::string> names_of(const Command& command) {
  std::vector<std::string> names;
  for (const Command& below : command.commands) names.push_back(below.path.back());
  return names;
}

std::vector<std::string> names_of_options(const Command& command) {
  std::vector<std::string> names;
  for (const OptionText& option : command.options)
    names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

std::vector<std::string> values_of_arguments(const Command& command) {
  std::vector<std::string> values;
  for (const OptionText& argument : command.arguments)
    values.insert(values.end(), argument.values.begin(), argument.values.end());
  return values;
}

// Escapes a text for a shell's single quotes.
std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// ---- bash

constexpr const char* kBashBegin = R"(# Made by `doorbell completion bash`.
_doorbell() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
  local path=doorbell commands= options= values= i
  # --option=value comes as three words.
  [[ $cur == = ]] && cur=
  [[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD-2]}
  for ((i = 1; i < COMP_CWORD; ++i)); do
    if [[ ${COMP_WORDS[i]} == -- ]]; then
      # Another program's line begins.
      if declare -F _command_offset > /dev/null; then
        _command_offset $((i + 1))
      elif ((i + 1 == COMP_CWORD)); then
        COMPREPLY=($(compgen -c -- "$cur"))
      else
        COMPREPLY=($(compgen -f -- "$cur"))
      fi
      return
    fi
    case "$path ${COMP_WORDS[i]}" in
)";

constexpr const char* kBashEnd = R"(  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$cur"))
  elif [[ -n $commands ]]; then
    COMPREPLY=($(compgen -W "$commands" -- "$cur"))
  else
    COMPREPLY=($(compgen -W "$values" -- "$cur") $(compgen -f -- "$cur"))
  fi
}
complete -o bashdefault -F _doorbell doorbell
)";

// The completion of an option's value.
std::string bash_values(const std::vector<const Command*>& all) {
  std::string text;
  for (const Command* command : all)
    for (const OptionText& option : command->options) {
      if (option.value.empty()) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names)
        patterns.push_back(fmt::format("\"{} {}\"", command->name(), name));
      const std::string how =
          option.values.empty() ? "-f" : fmt::format("-W \"{}\"", fmt::join(option.values, " "));
      text += fmt::format("    {}) COMPREPLY=($(compgen {} -- \"$cur\")); return ;;\n",
                          fmt::join(patterns, "|"), how);
    }
  return text;
}

std::string bash(const Command& root) {
  const std::vector<const Command*> all = all_commands(root);
  std::string text = kBashBegin;
  std::vector<std::string> paths;
  for (const Command* command : all)
    if (command != &root) paths.push_back(fmt::format("\"{}\"", command->name()));
  text += fmt::format("      {}) path=\"$path ${{COMP_WORDS[i]}}\" ;;\n    esac\n  done\n",
                      fmt::join(paths, "|"));
  text += "  case \"$path $prev\" in\n" + bash_values(all) + "  esac\n  case \"$path\" in\n";
  for (const Command* command : all)
    text += fmt::format("    \"{}\") commands=\"{}\" options=\"{}\" values=\"{}\" ;;\n",
                        command->name(), fmt::join(names_of(*command), " "),
                        fmt::join(names_of_options(*command), " "),
                        fmt::join(values_of_arguments(*command), " "));
  return text + kBashEnd;
}

// ---- zsh

std::string escaped(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text)
    out += (special.find(c) != special.npos ? "\\" : "") + std::string(1, c);
  return out;
}

std::string zsh_values(const OptionText& option) {
  return option.values.empty() ? "_files" : fmt::format("({})", fmt::join(option.values, " "));
}

std::string zsh_arguments(const Command& command) {
  std::string text;
  for (const OptionText& option : command.options) {
    const std::string what = escaped(option.description, "[]:");
    for (const std::string& name : option.names) {
      std::string spec = fmt::format("{}[{}]", name, what);
      if (!option.value.empty())
        spec += fmt::format(":{}:{}", escaped(option.value, ":"), zsh_values(option));
      text += " \\\n    " + in_quotes(spec);
    }
  }
  return text;
}

std::string zsh(const Command& root) {
  std::string text = "#compdef doorbell\n# Made by `doorbell completion zsh`.\n";
  for (const Command* command : all_commands(root)) {
    text += fmt::format("\n{}() {{\n", "_" + command->name("_"));
    if (command->commands.empty()) {
      text += "  _arguments -s" + zsh_arguments(*command);
      for (const OptionText& argument : command->arguments)
        if (&argument == &command->arguments.back() && command->runs_program())
          text += " \\\n    '*::: :_normal'";
        else
          text += " \\\n    " + in_quotes(fmt::format("{}:{}:{}", argument.is_many ? "*" : "",
                                                      argument.value, zsh_values(argument)));
      text += "\n}\n";
      continue;
    }
    text += "  local state line\n  local -a commands\n  commands=(\n";
    for (const Command& below : command->commands)
      text += "    " +
              in_quotes(escaped(below.path.back(), ":") + ":" + escaped(below.description, ":")) +
              "\n";
    text += "  )\n  _arguments -C" + zsh_arguments(*command) +
            " \\\n    '1: :->command' '*:: :->rest'\n"
            "  case $state in\n    command) _describe command commands ;;\n    rest)\n"
            "      case $words[1] in\n";
    for (const Command& below : command->commands)
      text += fmt::format("        {}) _{} ;;\n", below.path.back(), below.name("_"));
    text += "      esac ;;\n  esac\n}\n";
  }
  return text + "\n_doorbell \"$@\"\n";
}

// ---- fish

std::string fish_condition(const Command& command) {
  if (command.path.size() == 1) return "__fish_use_subcommand";
  std::string condition = "__fish_seen_subcommand_from " + command.path.back();
  if (!command.commands.empty())
    condition +=
        fmt::format("; and not __fish_seen_subcommand_from {}", fmt::join(names_of(command), " "));
  return condition;
}

std::string fish(const Command& root) {
  std::string text =
      "# Completion of doorbell for fish, made by `doorbell completion fish`.\n"
      "complete -c doorbell -f\n";
  for (const Command* command : all_commands(root)) {
    const std::string begin =
        fmt::format("complete -c doorbell -n {}", in_quotes(fish_condition(*command)));
    for (const Command& below : command->commands)
      text +=
          fmt::format("{} -a {} -d {}\n", begin, below.path.back(), in_quotes(below.description));
    for (const OptionText& option : command->options) {
      text += begin;
      for (const std::string& name : option.names)
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!option.value.empty())
        text += option.values.empty()
                    ? " -r -F"
                    : fmt::format(" -x -a {}",
                                  in_quotes(fmt::format("{}", fmt::join(option.values, " "))));
      text += fmt::format(" -d {}\n", in_quotes(option.description));
    }
    if (command->runs_program())
      text += begin + " -a '(__fish_complete_subcommand --fcs-skip=2)'\n";
    else if (!command->arguments.empty())
      text +=
          fmt::format("{} -F -a {}\n", begin,
                      in_quotes(fmt::format("{}", fmt::join(values_of_arguments(*command), " "))));
  }
  return text;
}

}  // namespace

void add_completion(CLI::App* app, int* status) {
  CLI::App* command =
      app->add_subcommand("completion", "Print what a shell needs to complete these commands");
  auto shell = std::make_shared<std::string>();  // owned by the parser and the callback
  command->add_option("shell", *shell, "Which shell")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->footer(R"(
EXAMPLES
  source <(doorbell completion bash)
  doorbell completion zsh > ~/.zsh/completions/_doorbell
  doorbell completion fish > ~/.config/fish/completions/doorbell.fish
)");
  command->callback([app, shell, status] {
    const Command root = describe_command(*app);
    fmt::print("{}", *shell == "bash" ? bash(root) : *shell == "zsh" ? zsh(root) : fish(root));
    *status = 0;
  });
}

}  // namespace doorbell::tools
