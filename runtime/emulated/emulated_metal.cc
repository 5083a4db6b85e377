// Starts the emulated Objective-C runtime and Metal with the settings of the environment.
#include "runtime/emulated/emulated_metal.h"

#include "base/util/log.h"
#include "base/util/try.h"
#include "emulator/metal/rules.h"
#include "emulator/metal/runtime.h"

namespace doorbell::runtime {

Result<metal::FindSymbol> open_emulated_metal(const EmulatorSettings& settings) {
  auto runtime = std::make_unique<emu::metal::Runtime>();
  TRY(runtime->checks.configure(settings.checks.empty() ? "error" : settings.checks,
                                emu::metal::all_checks()));
  runtime->checks.listen(
      [](const emu::Report& report) { log().warn("{}", emu::to_string(report)); });
  emu::metal::install(std::move(runtime));
  return metal::FindSymbol(emu::metal::find_symbol);
}

}  // namespace doorbell::runtime
