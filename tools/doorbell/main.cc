// `doorbell`: the command line.
#include "tools/doorbell/tool.h"

int main(int argc, char** argv) { return doorbell::tools::run(argc, argv); }
