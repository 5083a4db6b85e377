// `doorbell`: the command line. Parses, dispatches, and turns errors into a line on stderr.
#include <cstdio>

#include "base/util/error.h"
#include "tools/doorbell/commands.h"

int main(int argc, char** argv) {
  CLI::App app("Doorbell: tensors on bare GPUs, and tools for those who bring them up.",
               "doorbell");
  app.require_subcommand(1);
  int status = 0;
  doorbell::tools::add_bench(&app, &status);
  doorbell::tools::add_conformance(&app, &status);
  doorbell::tools::add_demo(&app, &status);
  doorbell::tools::add_devices(&app, &status);
  doorbell::tools::add_profile(&app, &status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const doorbell::Error& error) {
    std::fprintf(stderr, "doorbell: %s\n", error.what());
    return 1;
  }
  return status;
}
