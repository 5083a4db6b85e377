// `doorbell help [COMMAND]`, and the error for unknown commands.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "base/util/error.h"
#include "base/util/suggest.h"
#include "tools/doorbell/commands.h"

namespace doorbell::tools {
namespace {

bool is_shown(const CLI::App* app) { return !app->get_group().empty(); }

// The command with this name below `app`; throws with the nearest name if there is none.
const CLI::App* find_command(const CLI::App& app, const std::string& name) {
  std::vector<std::string> names;
  for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (below->get_name() == name) return below;
    if (is_shown(below)) names.push_back(below->get_name());
  }
  const bool is_root = app.get_parent() == nullptr;
  throw fail(ErrorKind::Invalid, "no command is called {:?}{}; `doorbell help{}` lists them",
             is_root ? name : app.get_name() + " " + name, did_you_mean(name, names),
             is_root ? "" : " " + app.get_name());
}

}  // namespace

void refuse_unknown_command(const CLI::App& app, int argc, const char* const* argv) {
  const CLI::App* at = &app;
  for (int i = 1; i < argc && at->get_require_subcommand_min() > 0; ++i) {
    if (argv[i][0] == '-') return;  // an option: left to the parser
    at = find_command(*at, argv[i]);
  }
}

void add_help(CLI::App* app, int* status) {
  CLI::App* command = app->add_subcommand("help", "Print help on a command");
  auto names = std::make_shared<std::vector<std::string>>();  // shared with the callback
  command->add_option("name", *names, "The command: bench latency");
  command->callback([app, names, status] {
    const CLI::App* at = app;
    for (const std::string& name : *names) at = find_command(*at, name);
    std::string path = at->get_name();
    for (const CLI::App* above = at->get_parent(); above; above = above->get_parent())
      path = above->get_name() + " " + path;
    // Not App::help(): it would print the help of the parsed command, which is `help` itself.
    fmt::print("{}", at->get_formatter()->make_help(at, path, CLI::AppFormatMode::Normal));
    *status = 0;
  });
}

}  // namespace doorbell::tools
