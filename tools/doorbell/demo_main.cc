// `doorbell_demo demo`: `doorbell demo` as a program of its own, for scripts/demo. It is built
// without the emulator and the other commands, so that a newcomer waits less.
#include "tools/doorbell/commands.h"
#include "tools/doorbell/parse.h"

int main(int argc, char** argv) {
  CLI::App app("Doorbell's demonstration: tensors on bare GPUs.", "doorbell_demo");
  app.require_subcommand(1);
  int status = 0;
  doorbell::tools::add_demo(&app, &status);
  return doorbell::tools::parse(app, argc, argv, status);
}
