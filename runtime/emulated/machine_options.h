// What the settings of emulated machines mean for the machine of any vendor.
#pragma once

#include <memory>
#include <string_view>

#include "base/util/try.h"
#include "emulator/core/trace_file.h"
#include "runtime/emulated/emulator_settings.h"

namespace doorbell::runtime {

// All but the GPUs, whose names are the vendor's. `Options`: MachineOptions of emulator/amd or
// emulator/nv.
template <class Options>
Result<void> set_machine_options(const EmulatorSettings& settings, Options* options) {
  if (!settings.checks.empty()) options->checks = settings.checks;
  options->adversarial = settings.adversarial;
  options->lockstep = settings.seed.has_value();
  options->seed = settings.seed.value_or(options->seed);
  options->hang_after = settings.hang_after.value_or(options->hang_after);
  if (settings.trace.empty()) return {};
  TRY(options->trace_filter, emu::TraceFilter::parse(settings.trace_only));
  TRY(emu::TraceFile::create(settings.trace));
  TRY(std::unique_ptr<emu::TraceFile> opened,
      emu::TraceFile::open(settings.trace, settings.trace_limit.value_or(0)));
  const std::shared_ptr<emu::TraceFile> file = std::move(opened);  // by the copies of the sink
  // Lines as they come: a crash must not take the last ones with it.
  options->trace = [file](std::string_view line) { file->write(line); };
  options->trace_format = file->format();
  return {};
}

}  // namespace doorbell::runtime
