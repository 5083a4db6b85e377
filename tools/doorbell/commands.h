// The subcommands of `doorbell`. Each adds itself to the command line and runs when it is named;
// for what it prints see its own file.
#pragma once

#include <CLI/CLI.hpp>

namespace doorbell::tools {

// Each returns the exit status through `status` when its subcommand is run.
void add_bench(CLI::App* app, int* status);
void add_completion(CLI::App* app, int* status);
void add_conformance(CLI::App* app, int* status);
void add_decode(CLI::App* app, int* status);
void add_demo(CLI::App* app, int* status);
void add_devices(CLI::App* app, int* status);
void add_disasm(CLI::App* app, int* status);
void add_explain(CLI::App* app, int* status);
void add_export(CLI::App* app, int* status);
void add_graph(CLI::App* app, int* status);
void add_help(CLI::App* app, int* status);
void add_manual(CLI::App* app, int* status);
void add_profile(CLI::App* app, int* status);
void add_tune(CLI::App* app, int* status);

#ifdef __linux__
void add_amd(CLI::App* app, int* status);
void add_amd_bare(CLI::App* amd, int* status);
void add_amd_discovery(CLI::App* amd, int* status);
void add_emu(CLI::App* app, int* status);
void add_nv(CLI::App* app, int* status);
void add_trace(CLI::App* app, int* status);
#else  // other systems have neither the drivers of these GPUs nor the emulators
inline void add_amd(CLI::App* /*app*/, int* /*status*/) {}
inline void add_emu(CLI::App* /*app*/, int* /*status*/) {}
inline void add_nv(CLI::App* /*app*/, int* /*status*/) {}
inline void add_trace(CLI::App* /*app*/, int* /*status*/) {}
#endif

// Throws if the command line begins with an unknown command; the message suggests the nearest.
void refuse_unknown_command(const CLI::App& app, int argc, const char* const* argv);

}  // namespace doorbell::tools
