// The process's counts, never destroyed, because its machine runs until the process has ended.
#include "emulator/preload/counts_at_exit.h"

#include <unistd.h>

#include <string>

#include "emulator/core/counts_file.h"

namespace doorbell::emu {
namespace {

struct Opened {
  std::shared_ptr<Counts> counts = std::make_shared<Counts>();  // with the machine
  std::string path;
  pid_t process = 0;
};
Opened* opened = nullptr;

// A forked child has the counts of its parent, and no machine.
[[gnu::destructor]] void write_counts() {
  if (opened == nullptr || opened->process != getpid()) return;
  const auto written = append_counts(*opened->counts, opened->path);
  if (written) return;
  const std::string line = "doorbell emu: " + written.error().message + "\n";
  if (::write(STDERR_FILENO, line.data(), line.size()) < 0) return;  // the reader is gone
}

}  // namespace

std::shared_ptr<Counts> open_counts(const char* path) {
  if (*path == 0) return nullptr;
  if (opened == nullptr || opened->process != getpid())
    opened = new Opened{.path = path, .process = getpid()};
  return opened->counts;
}

}  // namespace doorbell::emu
