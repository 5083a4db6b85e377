// Starts the emulated CUDA driver with the settings of the environment.
#include "runtime/emulated/emulated_cuda.h"

#include "base/util/log.h"
#include "base/util/try.h"
#include "emulator/cuda/driver.h"
#include "emulator/cuda/functions.h"

namespace doorbell::runtime {

Result<cuda::FindSymbol> open_emulated_cuda(const EmulatorSettings& settings,
                                            const std::string& arch) {
  emu::cuda::DriverOptions options;
  if (!arch.empty()) options.gpus = arch;
  if (!settings.gpus.empty()) options.gpus = settings.gpus;
  if (!settings.checks.empty()) options.checks = settings.checks;
  options.adversarial = settings.adversarial;
  options.seed = settings.seed.value_or(options.seed);
  options.hang_after = settings.hang_after.value_or(options.hang_after);
  options.report = [](const emu::Report& report) { log().warn("{}", emu::to_string(report)); };
  TRY(std::unique_ptr<emu::cuda::Driver> driver, emu::cuda::Driver::create(std::move(options)));
  emu::cuda::install(std::move(driver));
  return cuda::FindSymbol(emu::cuda::find_symbol);
}

std::string emulated_cuda_fault() {
  emu::cuda::Driver* driver = emu::cuda::driver();
  if (driver == nullptr) return {};
  std::lock_guard lock(driver->mutex);
  return driver->last_fault;
}

}  // namespace doorbell::runtime
