// The emulated machine with NVIDIA's GPUs inside another program: made when the preload shim first
// opens one of its devices, never destroyed, because the program's destructors may still use it.
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <new>

#include "base/util/try.h"
#include "emulator/core/number.h"
#include "emulator/cuda/rules.h"
#include "emulator/nv/machine.h"
#include "emulator/preload/counts_at_exit.h"
#include "emulator/preload/door.h"
#include "emulator/preload/door_support.h"

namespace doorbell::emu {
namespace {

nvgpu::Machine* machine = nullptr;
bool tells_leaks = false;
std::mutex making;  // machine

int to_machine(int node) {
  if (node == kDoorbellNvControl) return nvgpu::Machine::kControlNode;
  return node == kDoorbellNvUvm ? nvgpu::Machine::kUvmNode : node - kDoorbellNvFirst;
}

// The machine calls functions that the shim replaces, while it holds its mutex.
thread_local bool is_inside = false;

class Inside {
 public:
  Inside() { is_inside = true; }
  ~Inside() { is_inside = false; }
};

int node_of(int descriptor) {
  if (is_inside) return -2;
  const Inside inside;
  const int node = machine ? machine->node_of(descriptor) : nvgpu::Machine::kNoNode;
  switch (node) {
    case nvgpu::Machine::kNoNode: return -2;
    case nvgpu::Machine::kControlNode: return kDoorbellNvControl;
    case nvgpu::Machine::kUvmNode: return kDoorbellNvUvm;
    default: return kDoorbellNvFirst + node;
  }
}

// The flags do not matter: a node is read and written by ioctl() and mmap() only.
int open_node(int node, int) {
  const Inside inside;
  return machine->open_node(to_machine(node));
}

int node_ioctl(int descriptor, int, unsigned long request, void* argument) {
  const Inside inside;
  // No exception may unwind into the host program.
  try {
    return machine->ioctl(descriptor, request, reinterpret_cast<u64>(argument));
  } catch (const std::exception& error) {
    say(std::string("internal error: ") + error.what());
    return EIO;
  }
}

int is_own(int descriptor) { return node_of(descriptor) != -2; }

// The thread that held the mutex does not exist in the child, nor does the one that runs the GPUs.
void forked() {
  new (&making) std::mutex;
  machine = nullptr;
}

// RM_MAP_MEMORY has made the descriptor one of the memory.
int map_node(int, unsigned long, int, int, unsigned long) { return 0; }
void unmapped(void*, unsigned long) {}

Result<nvgpu::Machine*> make_machine(const DoorbellEmulatorOptions& given) {
  nvgpu::MachineOptions options;
  options.gpus = given.gpus;
  options.checks = given.checks;
  options.other_checks = cuda::all_checks();
  if (*given.driver) options.driver = given.driver;
  options.adversarial = given.adversarial != 0;
  options.preload = true;
  TRY(options.seed, parse_number("EMU_SEED", given.seed, 0));
  TRY(options.hang_after, parse_number("EMU_HANG_AFTER", given.hang_after, 0));
  TRY(const DoorTrace trace, open_trace(given));
  options.trace = trace.sink;
  options.trace_filter = trace.filter;
  options.trace_format = trace.format;
  options.counts = open_counts(given.counts);
  options.report = report_to(given);
  TRY(std::unique_ptr<nvgpu::Machine> made, nvgpu::Machine::create(std::move(options)));
  return made.release();
}

// Runs when the process ends by exit(), not when it is killed.
[[gnu::destructor]] void tell_leaks() {
  if (machine && tells_leaks) machine->tell_leaks();
}

void polled(int descriptor) {
  if (is_own(descriptor) == 0) return;
  const Inside inside;
  machine->polled(descriptor);
}

// No node's contents are computed.
unsigned long read_node(int, void*, unsigned long, unsigned long) { return 0; }

constexpr DoorbellEmulatorDoor kDoor{open_node, node_ioctl, node_of, is_own,   forked,
                                     map_node,  unmapped,   polled,  read_node};

}  // namespace

const DoorbellEmulatorDoor* open_nv_door(const DoorbellEmulatorOptions& options) {
  std::lock_guard lock(making);
  if (!machine) {
    machine = made_or_null([&] { return make_machine(options); });
    tells_leaks = options.leaks != 0;
  }
  return machine ? &kDoor : nullptr;
}

}  // namespace doorbell::emu
