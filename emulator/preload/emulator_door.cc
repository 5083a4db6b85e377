// The emulated machine with AMD's GPUs inside another program: made when the preload shim first
// opens one of its devices, never destroyed, because the program's destructors may still use it.
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
#include "emulator/core/number.h"
#include "emulator/preload/bare_door.h"
#include "emulator/preload/counts_at_exit.h"
#include "emulator/preload/door.h"
#include "emulator/preload/door_support.h"

namespace doorbell::emu {
namespace {

amdgpu::Machine* machine = nullptr;
amdgpu::Breakpoints* breakpoints = nullptr;  // the machine's
BareDoor* bare = nullptr;                    // where no kernel driver has the machine's GPUs
bool tells_leaks = false;
std::mutex making;  // machine

// Machines of the processes from which this one was forked: known by their descriptors only,
// because their threads and memory stayed there. The oldest are forgotten.
constexpr unsigned kMaxParents = 8;
amdgpu::Machine* parents[kMaxParents] = {};
unsigned parent_count = 0;

Result<std::shared_ptr<amdgpu::Breakpoints>> parse_breakpoints(
    const DoorbellEmulatorOptions& given) {
  amdgpu::Breakpoints::Options options{.lds = given.break_lds != 0, .tell = {}};
  TRY(options.most, parse_number("EMU_BREAK_COUNT", given.break_count, options.most));
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
  options.bare = given.bare != 0;
  // The next process finds a card as this one leaves it.
  if (options.bare) options.cards = given.root;
  TRY(options.seed, parse_number("seed", given.seed, options.seed));
  TRY(options.hang_after, parse_number("EMU_HANG_AFTER", given.hang_after, options.hang_after));
  TRY(const DoorTrace trace, open_trace(given));
  options.trace = trace.sink;
  options.trace_filter = trace.filter;
  options.trace_format = trace.format;
  if (*given.dump_waves) {
    TRY(const int dump, open_to_append(given.dump_waves));
    options.dump_waves = [dump](std::string_view text) { write_all(dump, text); };
  }
  if (*given.breaks) {
    TRY(options.breakpoints, parse_breakpoints(given));
    breakpoints = options.breakpoints.get();
  }
  options.counts = open_counts(given.counts);
  options.report = report_to(given);
  return options;
}

Result<amdgpu::Machine*> make_machine(const DoorbellEmulatorOptions& given) {
  TRY(amdgpu::MachineOptions options, machine_options(given));
  const usize gpus = options.gpus.size();
  const bool is_bare = options.bare;
  TRY(std::unique_ptr<amdgpu::Machine> made, amdgpu::Machine::create(std::move(options)));
  if (is_bare) {
    TRY(std::unique_ptr<BareDoor> door, BareDoor::make(*made, gpus, given.root));
    bare = door.release();
  }
  return made.release();
}

int open_node(int node, int flags) {
  if (bare) return bare->open(node, flags);
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

int node_ioctl(int, int node, unsigned long request, void* argument) {
  if (bare) return ENOTTY;
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
  if (bare) return machine && bare->node_of(descriptor) != BareDoor::kNoNode;
  return machine && machine->kfd().node_of(descriptor) != amdgpu::Kfd::kNoNode;
}

int node_of(int descriptor) {
  if (bare) return bare->node_of(descriptor);
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
  bare = nullptr;
}

int map_node(int descriptor, unsigned long bytes, int protection, int flags, unsigned long offset) {
  if (is_inside || bare || !is_own(descriptor)) return 0;
  const Inside inside;
  const bool is_copy = (flags & MAP_TYPE) == MAP_PRIVATE && protection != PROT_NONE;
  return machine->kfd().judge_map(machine->kfd().node_of(descriptor), {offset, bytes, is_copy});
}

void unmapped(void* start, unsigned long bytes) {
  if (is_inside || !machine) return;
  if (bare) return bare->unmapped(start, bytes);
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

// Nobody polls /dev/kfd for events.
void polled(int) {}

unsigned long read_node(int node, void* into, unsigned long bytes, unsigned long offset) {
  return bare ? bare->read(node, into, bytes, offset) : 0;
}

constexpr DoorbellEmulatorDoor kDoor{open_node, node_ioctl, node_of, is_own,   forked,
                                     map_node,  unmapped,   polled,  read_node};

}  // namespace
}  // namespace doorbell::emu

namespace doorbell::emu {

const DoorbellEmulatorDoor* open_amd_door(const DoorbellEmulatorOptions& options) {
  std::lock_guard lock(making);
  if (!machine) {
    machine = made_or_null([&] { return make_machine(options); });
    tells_leaks = options.leaks != 0;
  }
  return machine ? &kDoor : nullptr;
}

}  // namespace doorbell::emu

extern "C" [[gnu::visibility("default")]] const DoorbellEmulatorDoor* doorbell_emulator_door_8(
    const DoorbellEmulatorOptions* options) {
  const bool is_nvidia = std::string_view(options->gpus).starts_with("sm_");
  return is_nvidia ? doorbell::emu::open_nv_door(*options) : doorbell::emu::open_amd_door(*options);
}
