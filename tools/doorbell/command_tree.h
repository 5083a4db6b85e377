// The command line as data, from which `doorbell help`, the shells' completions and the manual
// pages are made. Read from the options that the subcommands declare to CLI11 (commands.h).
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace doorbell::tools {

struct OptionText {
  std::vector<std::string> names;   // "-o", "--output"; none: an argument without a name
  std::string value;                // "FILE", what stands for its value; empty: a flag
  std::vector<std::string> values;  // the possible values, if they can be listed
  std::string description;
  bool is_required = false, is_many = false;
};

struct Command {
  std::vector<std::string> path;  // "doorbell", "bench", "latency"
  std::string description, footer;
  std::vector<OptionText> options, arguments;
  std::vector<Command> commands;  // below it

  std::string name(const char* between = " ") const;
  // The last argument is a program with its own arguments.
  bool runs_program() const;
};

// Without hidden commands and options.
Command describe_command(const CLI::App& app, std::vector<std::string> above = {});

// It and all below it, each before its own.
std::vector<const Command*> all_commands(const Command& root);

}  // namespace doorbell::tools
