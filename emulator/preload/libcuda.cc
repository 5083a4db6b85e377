// The emulated CUDA driver's functions under the names that libcuda.so.1 exports, for clients that
// are not ours. It is started by cuInit() with the environment that `doorbell emu` sets.
#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

#include "emulator/cuda/driver.h"
#include "emulator/cuda/functions.h"
#include "emulator/preload/counts_at_exit.h"

namespace doorbell::emu::cuda {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

u64 number(const char* name) {
  const std::string_view text = variable(name);
  u64 value = 0;  // of an empty text; `doorbell emu` has checked others
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void append(int file, const std::string& line) {
  if (file >= 0 && ::write(file, line.data(), line.size()) < 0) return;  // the reader is gone
}

// Each broken rule goes to standard error; `doorbell emu` counts the lines of the file of errors.
void report(const Report& report) {
  const std::string line = to_string(report) + "\n";
  append(STDERR_FILENO, "doorbell emu: " + line);
  const std::string root(variable("DOORBELL_EMU_ROOT"));
  if (report.level != Level::Error || root.empty()) return;
  const std::string path = root + "/errors";
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  append(file, line);
  if (file >= 0) ::close(file);
}

bool start() {
  DriverOptions options;
  if (!variable("EMU_GPU").empty()) options.gpus = variable("EMU_GPU");
  if (!variable("EMU_CHECKS").empty()) options.checks = variable("EMU_CHECKS");
  options.adversarial = variable("EMU_ADVERSARIAL") == "1";
  options.seed = number("EMU_SEED");
  options.hang_after = number("EMU_HANG_AFTER");
  options.counts = open_counts(std::string(variable("EMU_COUNTS")).c_str());
  options.report = report;
  Result<std::unique_ptr<Driver>> made = Driver::create(std::move(options));
  if (made)
    install(std::move(*made));
  else
    append(STDERR_FILENO, "doorbell emu: " + made.error().message + "\n");
  return made.has_value();
}

// Clients that ask cuGetProcAddress() for cuInit() never call the one that is exported here.
__attribute__((constructor)) void on_load() { install_at_init(start); }

}  // namespace

namespace exported {

extern "C" {

#define FUNCTION(name, parameters, arguments) \
  __attribute__((visibility("default"))) int name parameters { return cuda::name arguments; }
#include "emulator/cuda/functions.def"
#undef FUNCTION

}  // extern "C"

}  // namespace exported

}  // namespace doorbell::emu::cuda
