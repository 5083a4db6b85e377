// An emulated machine with AMD GPUs: what a driver of ours opens as EMUKFD, and what `doorbell emu`
// puts under another program. Puts together the kernel's door (emulator/amd/kfd) and the GPUs
// (emulator/amd/cp); the environment is read by runtime/ and the preload shim.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/host_accesses.h"
#include "base/os/system.h"
#include "base/util/result.h"
#include "emulator/core/checks.h"
#include "emulator/core/counts.h"
#include "emulator/core/trace.h"

namespace doorbell::emu::amdgpu {

class BareGpu;
class BusMemory;
class Breakpoints;
class EmulatedUsb;
class Kfd;
class PacketHook;

// Whether bare GPUs are left to vfio-pci, behind an IOMMU or not.
enum class Vfio : u8 { None, Iommu, WithoutIommu };

struct MachineOptions {
  std::vector<std::string> gpus = {"gfx1100"};  // as make_slots() of kfd/topology.h takes them
  bool bare = false;  // no kernel driver has them: they are PCI devices (bare/bare_files.h)
  // A folder where bare cards are kept when a process ends; the next one finds them as they were
  // left. Empty: they are new in each machine.
  std::string cards;
  // How much of a bare card's memory its region on the bus shows at first, and how much the bridge
  // above has room for: powers of two; 0: all.
  u64 shown_bytes = 0, most_shown_bytes = 0;
  Vfio vfio = Vfio::None;
  std::string checks = "error";  // as Checks::configure() takes it
  bool adversarial = false;      // the weakest legal hardware, instead of the fastest
  bool lockstep = false;         // no threads: the doors move the machine, the same for a seed
  // A grid that has run so many wave instructions hangs (cp/gpu.h); 0: no limit, but in
  // lockstep, where no clock ends a wait, after 2^28.
  u64 hang_after = 0;
  u64 seed = 0;                   // for lockstep and adversarial
  bool polled_doorbells = false;  // stores cannot be trapped: preload
  // A wave that met an illegal instruction stands still, unreported, as a kernel's does for which
  // no client installed a trap handler, and one that executes s_trap goes on. Else the GPU is reset
  // at once, so that the developer before the emulator need not wait for a timeout.
  bool silent_waves = false;
  PacketHook* hook = nullptr;  // tests that drop and corrupt packets (cp/packet_hook.h); borrowed
  std::function<void(const Report&)> report;  // each broken rule; null: only the log has them
  Trace::Sink trace;                          // null: no trace
  Trace::Format trace_format = Trace::Format::Text;
  TraceFilter trace_filter;  // all lines
  // Gets the registers of the waves of each kernel that stops its queue; null: not wanted.
  std::function<void(std::string_view)> dump_waves;
  // Where waves are told of and go on; null: nowhere. shared_ptr: options are copied.
  std::shared_ptr<Breakpoints> breakpoints;
  // Gets what each kernel executes; null: nothing is counted. shared_ptr: with whoever reads it.
  std::shared_ptr<Counts> counts;
};

// Thread safety: from any thread; destroyed after all files opened through it.
class Machine {
 public:
  // Names of GPUs and checks that are not known are Invalid, with those that are.
  static Result<std::unique_ptr<Machine>> create(MachineOptions options);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // The host's files with the machine's devices among them; `host` is borrowed.
  std::unique_ptr<os::Files> files(os::Files& host);
  // The clock by which the machine's time passes: in lockstep, time goes on when it is asked for or
  // waits, and the GPUs move meanwhile; else the host's. `host` is borrowed.
  std::unique_ptr<os::Clock> clock(os::Clock& host);

  Checks& checks();
  // For drivers in this process: is told what the host accesses; null: races are not judged.
  os::HostAccesses* host_accesses();
  Kfd& kfd();
  // What stopped a GPU last, whatever door it is behind; empty: nothing did.
  std::string last_fault(usize index);
  // Of a bare machine.
  BareGpu& bare_gpu(usize index);
  BusMemory& bus();
  // The same GPUs, each behind a bridge on USB: instead of the PCI devices among files().
  EmulatedUsb& usb();
  // Reports what the process leaves, as its end would.
  void tell_leaks();
  // Lockstep: until no queue of any GPU can go on, or waves have run for so long that they may be
  // waiting for the host. True if any moved.
  bool run_until_idle();
  // Lockstep: until idle; in adversarial mode only as far as the seed says, so that the host may be
  // ahead of the GPUs, and they of each other. True if any moved.
  bool run_some();

 private:
  struct State;
  explicit Machine(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace doorbell::emu::amdgpu
