// The command line as data: what `doorbell help`, the completions of shells and the manual pages
// are all made of. The one source is what the subcommands told CLI11 (commands.h).
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace doorbell::tools {

struct OptionText {
  std::vector<std::string> names;   // "-o", "--output"; none: an argument without a name
  std::string value;                // "FILE", what stands for its value; empty: a flag
  std::vector<std::string> values;  // those that there are, when they can be listed
  std::string description;
  bool is_required = false, is_many = false;
};

struct Command {
  std::vector<std::string> path;  // "doorbell", "bench", "latency"
  std::string description, footer;
  std::vector<OptionText> options, arguments;
  std::vector<Command> commands;  // below it

  std::string name(const char* between = " ") const;
  // Its last argument is a program with arguments of its own.
  bool runs_program() const;
};

// Without what is hidden.
Command describe_command(const CLI::App& app, std::vector<std::string> above = {});

// It and all below it, each before its own.
std::vector<const Command*> all_commands(const Command& root);

}  // namespace doorbell::tools
