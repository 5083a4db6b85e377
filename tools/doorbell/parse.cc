// Prints errors as a line on stderr.
#include "tools/doorbell/parse.h"

#include <cstdio>
#include <exception>

#include "tools/doorbell/commands.h"

namespace doorbell::tools {

int parse(CLI::App& app, int argc, char** argv, const int& status) {
  try {
    refuse_unknown_command(app, argc, argv);
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::exception& error) {  // Doorbell's and the standard library's
    std::fprintf(stderr, "doorbell: %s\n", error.what());
    return 1;
  }
  return status;
}

}  // namespace doorbell::tools
