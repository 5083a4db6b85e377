// The command line with all its commands.
#include "tools/doorbell/tool.h"

#include "tools/doorbell/commands.h"
#include "tools/doorbell/parse.h"

namespace doorbell::tools {

int run(int argc, char** argv) {
  CLI::App app("Doorbell: tensors on bare GPUs, and tools for those who bring them up.",
               "doorbell");
  app.require_subcommand(1);
  app.set_version_flag("--version", "doorbell " DOORBELL_VERSION, "Print the version");
  int status = 0;
  add_amd(&app, &status);
  add_bench(&app, &status);
  add_completion(&app, &status);
  add_conformance(&app, &status);
  add_decode(&app, &status);
  add_demo(&app, &status);
  add_devices(&app, &status);
  add_disasm(&app, &status);
  add_emu(&app, &status);
  add_explain(&app, &status);
  add_export(&app, &status);
  add_graph(&app, &status);
  add_help(&app, &status);
  add_manual(&app, &status);
  add_nv(&app, &status);
  add_profile(&app, &status);
  add_trace(&app, &status);
  add_tune(&app, &status);
  return parse(app, argc, argv, status);
}

}  // namespace doorbell::tools
