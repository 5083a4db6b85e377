// The command line: parses, dispatches, and turns errors into a line on stderr.
#include "tools/doorbell/tool.h"

#include <cstdio>
#include <exception>

#include "tools/doorbell/commands.h"

namespace doorbell::tools {

int run(int argc, char** argv) {
  CLI::App app("Doorbell: tensors on bare GPUs, and tools for those who bring them up.",
               "doorbell");
  app.require_subcommand(1);
  app.set_version_flag("--version", "doorbell " DOORBELL_VERSION, "Print the version");
  int status = 0;
  add_bench(&app, &status);
  add_completion(&app, &status);
  add_conformance(&app, &status);
  add_decode(&app, &status);
  add_demo(&app, &status);
  add_devices(&app, &status);
  add_disasm(&app, &status);
  add_emu(&app, &status);
  add_export(&app, &status);
  add_graph(&app, &status);
  add_help(&app, &status);
  add_manual(&app, &status);
  add_profile(&app, &status);
  add_trace(&app, &status);
  try {
    refuse_unknown_command(app, argc, argv);
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::exception& error) {  // ours, and those of the standard library
    std::fprintf(stderr, "doorbell: %s\n", error.what());
    return 1;
  }
  return status;
}

}  // namespace doorbell::tools
