// Checked here, so that the traced program does not have to report errors.
#include "tools/doorbell/trace_options.h"

#include <cstdlib>

#include "emulator/core/trace_file.h"
#include "emulator/core/trace_filter.h"
#include "tools/doorbell/or_throw.h"

namespace doorbell::tools {

void add_trace_options(CLI::App* command, const char* only, const char* limit,
                       TraceOptions* options) {
  command
      ->add_option(only, options->only,
                   "Only these lines: kinds, or a kind and a name, or queues, separated by commas: "
                   "ioctl,packet:DISPATCH*,queue:0")
      ->option_text("LIST");
  command
      ->add_option(limit, options->limit,
                   "The trace ends when its file has this size, such as 100MiB")
      ->transform(CLI::AsSizeValue(false))
      ->option_text("BYTES");
}

void set_trace(const TraceOptions& options, const char* file, const char* only, const char* limit) {
  or_throw(emu::TraceFilter::parse(options.only));
  if (!options.only.empty()) setenv(only, options.only.c_str(), 1);
  if (options.file.empty()) return;
  setenv(file, or_throw(emu::TraceFile::create(options.file)).c_str(), 1);
  if (options.limit != 0) setenv(limit, std::to_string(options.limit).c_str(), 1);
}

}  // namespace doorbell::tools
