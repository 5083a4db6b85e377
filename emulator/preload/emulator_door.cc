// The emulated machine inside another program: made when the preload shim first opens one of its
// devices, never destroyed, because the program's destructors may still use it.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <new>

#include <fmt/format.h>

#include "base/util/try.h"
#include "emulator/amd/breakpoints.h"
#include "emulator/amd/kfd/kfd.h"
#include "emulator/amd/kfd/kfd_checks.h"
#include "emulator/amd/machine.h"
#include "emulator/amd/machine_text.h"
#include "emulator/core/trace_file.h"
#include "emulator/preload/door.h"

namespace doorbell::emu {
namespace {

amdgpu::Machine* machine = nullptr;
amdgpu::Breakpoints* breakpoints = nullptr;  // the machine's
bool tells_leaks = false;
std::mutex making;  // machine

// Machines of the processes from which this one was forked: known by their descriptors only,
// because their threads and memory stayed there. The oldest are forgotten.
constexpr unsigned kMaxParents = 8;
amdgpu::Machine* parents[kMaxParents] = {};
unsigned parent_count = 0;

void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    ssize_t put = ::write(descriptor, text.data(), text.size());
    if (put <= 0) return;  // the reader is gone
    text.remove_prefix(static_cast<usize>(put));
  }
}

Result<int> open_to_append(const char* path) {
  const int file = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return fail_errno(errno, "open {}", path);
  return file;
}

void say(const std::string& text) { write_all(STDERR_FILENO, "doorbell emu: " + text + "\n"); }

Result<std::shared_ptr<amdgpu::Breakpoints>> parse_breakpoints(
    const DoorbellEmulatorOptions& given) {
  amdgpu::Breakpoints::Options options{.lds = given.break_lds != 0, .tell = {}};
  if (*given.break_count) {
    TRY(options.most, amdgpu::parse_number("EMU_BREAK_COUNT", given.break_count));
  }
  int file = STDERR_FILENO;
  if (*given.break_file) {
    TRY(file, open_to_append(given.break_file));
  }
  options.tell = [file](std::string_view text) { write_all(file, text); };
  return amdgpu::Breakpoints::parse(given.breaks, std::move(options));
}

Result<amdgpu::MachineOptions> machine_options(const DoorbellEmulatorOptions& given) {
  amdgpu::MachineOptions options{.gpus = {}, .checks = given.checks};
  TRY(options.gpus, amdgpu::parse_gpus(given.gpus));
  options.adversarial = given.adversarial != 0;
  options.polled_doorbells = true;
  if (*given.seed) {
    TRY(options.seed, amdgpu::parse_number("seed", given.seed));
  }
  if (*given.hang_after) {
    TRY(options.hang_after, amdgpu::parse_number("EMU_HANG_AFTER", given.hang_after));
  }
  if (*given.trace) {
    u64 limit = 0;
    if (*given.trace_limit) {
      TRY(limit, amdgpu::parse_number("EMU_TRACE_LIMIT", given.trace_limit));
    }
    TRY(options.trace_filter, TraceFilter::parse(given.trace_only));
    TRY(std::unique_ptr<TraceFile> opened, TraceFile::open(given.trace, limit));
    const std::shared_ptr<TraceFile> file = std::move(opened);  // by the copies of the sink
    options.trace = [file](std::string_view line) { file->write(line); };
    options.trace_format = file->format();
  }
  if (*given.dump_waves) {
    TRY(const int dump, open_to_append(given.dump_waves));
    options.dump_waves = [dump](std::string_view text) { write_all(dump, text); };
  }
  if (*given.breaks) {
    TRY(options.breakpoints, parse_breakpoints(given));
    breakpoints = options.breakpoints.get();
  }
  // Read by `doorbell emu` when the program has ended.
  std::string errors = std::string(given.root) + "/errors";
  int file = ::open(errors.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  options.report = [file](const Report& report) {
    std::string text = to_string(report);
    say(text);
    if (report.level == Level::Error && file >= 0) write_all(file, text + "\n");
  };
  return options;
}

Result<amdgpu::Machine*> make_machine(const DoorbellEmulatorOptions& given) {
  TRY(amdgpu::MachineOptions options, machine_options(given));
  TRY(std::unique_ptr<amdgpu::Machine> made, amdgpu::Machine::create(std::move(options)));
  return made.release();
}

int open_node(int node, int flags) {
  amdgpu::Kfd& kfd = machine->kfd();
  Backing& memory =
      node < 0 ? kfd.doorbell_memory() : *kfd.devices()[static_cast<usize>(node)]->memory;
  return memory.open(flags);
}

// Unmapping the machine's own memory does not call it: it may hold the locks.
thread_local bool is_inside = false;

class Inside {
 public:
  Inside() { is_inside = true; }
  ~Inside() { is_inside = false; }
};

int node_ioctl(int node, unsigned long request, void* argument) {
  amdgpu::Kfd& kfd = machine->kfd();
  u64 user = reinterpret_cast<u64>(argument);
  const Inside inside;
  // No exception may unwind into the host program.
  try {
    return node < 0 ? kfd.ioctl(static_cast<u32>(request), user)
                    : kfd.render_ioctl(static_cast<u32>(node), static_cast<u32>(request), user);
  } catch (const std::exception& error) {
    say(std::string("internal error: ") + error.what());
    return EIO;
  }
}

int is_own(int descriptor) {
  return machine && machine->kfd().node_of(descriptor) != amdgpu::Kfd::kNoNode;
}

int node_of(int descriptor) {
  if (is_own(descriptor)) return machine->kfd().node_of(descriptor);
  for (amdgpu::Machine* parent : parents) {
    if (!parent) continue;
    int node = parent->kfd().node_of(descriptor);
    if (node != amdgpu::Kfd::kNoNode) return node;
  }
  return amdgpu::Kfd::kNoNode;
}

// The thread that held the mutex does not exist in the child.
void forked() {
  new (&making) std::mutex;
  if (machine) parents[parent_count++ % kMaxParents] = machine;
  machine = nullptr;
}

int map_node(int descriptor, unsigned long bytes, int protection, int flags, unsigned long offset) {
  if (is_inside || !is_own(descriptor)) return 0;
  const Inside inside;
  const bool is_copy = (flags & MAP_TYPE) == MAP_PRIVATE && protection != PROT_NONE;
  return machine->kfd().judge_map(machine->kfd().node_of(descriptor), {offset, bytes, is_copy});
}

void unmapped(void* start, unsigned long bytes) {
  if (is_inside || !machine) return;
  const u64 from = reinterpret_cast<u64>(start);
  machine->kfd().buffers().host_unmapped(from, from + bytes);
}

// Runs when the process ends by exit(), not when it is killed.
[[gnu::destructor]] void tell_leaks() {
  if (!machine || !tells_leaks) return;
  amdgpu::Kfd& kfd = machine->kfd();
  for (const std::string& queue : kfd.queues().left())
    kfd.checks().report(amdgpu::kQueueLeft, queue + " is never destroyed");
  for (const std::string& buffer : kfd.buffers().left())
    kfd.checks().report(amdgpu::kQueueLeft, buffer + ", is never freed");
}

[[gnu::destructor]] void tell_unreached() {
  if (!machine || !breakpoints) return;
  for (const std::string& text : breakpoints->unreached())
    say("no wave came to breakpoint " + text);
}

constexpr DoorbellEmulatorDoor kDoor{open_node, node_ioctl, node_of, is_own,
                                     forked,    map_node,   unmapped};

}  // namespace
}  // namespace doorbell::emu

extern "C" [[gnu::visibility("default")]] const DoorbellEmulatorDoor* doorbell_emulator_door_5(
    const DoorbellEmulatorOptions* options) {
  using namespace doorbell::emu;  // NOLINT: the interface is C
  std::lock_guard lock(making);
  if (machine) return &kDoor;
  try {
    doorbell::Result<amdgpu::Machine*> made = make_machine(*options);
    if (!made) {
      say(made.error().message);
      return nullptr;
    }
    machine = *made;
    tells_leaks = options->leaks != 0;
    return &kDoor;
  } catch (const std::exception& error) {
    say(std::string("internal error: ") + error.what());
    return nullptr;
  }
}
