// An emulated machine with NVIDIA GPUs, behind the device nodes of NVIDIA's kernel modules: what a
// driver of ours opens as EMUNVK, and what `doorbell emu` puts under another program. Puts together
// RM (rm/), UVM (uvm/) and the GPUs (host/); the environment is read by runtime/ and the preload
// shim. The CUDA driver API is another door: emulator/cuda.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/os/host_accesses.h"
#include "base/os/system.h"
#include "base/util/result.h"
#include "emulator/core/checks.h"
#include "emulator/core/counts.h"
#include "emulator/core/trace.h"
#include "emulator/nv/host/fetch_hook.h"

namespace doorbell::emu::nvgpu {

struct MachineOptions {
  std::string gpus = "sm_86";        // as parse_models() of model.h takes them
  std::string driver = "580.95.05";  // the kernel modules' version: which layouts they take
  std::string checks = "error";      // as Checks::configure() takes it
  // More rules that `checks` may name, which this machine does not judge; borrowed.
  std::span<const Check* const> other_checks;
  bool adversarial = false;  // grids run as late as methods allow, caches hold old bytes
  bool lockstep = false;     // no threads: the doors move the machine, the same for a seed
  u64 hang_after = 0;        // warp instructions after which a kernel stops; 0: never
  u64 seed = 0;              // for lockstep and adversarial
  // Under another program, stores to the doorbell cannot be trapped, and files are mapped without
  // this machine's knowledge.
  bool preload = false;
  std::function<void(const Report&)> report;  // each broken rule; null: only the log has them
  FetchHook* hook = nullptr;                  // sees what the GPUs read; null: nobody
  Trace::Sink trace;                          // null: no trace
  Trace::Format trace_format = Trace::Format::Text;
  TraceFilter trace_filter;  // all lines
  // Gets what each kernel executes; null: nothing is counted. shared_ptr: with whoever reads it.
  std::shared_ptr<Counts> counts;
};

// Thread safety: from any thread; destroyed after all files opened through it.
class Machine {
 public:
  // Names of GPUs and checks that are not known, and drivers of releases that nobody compared, are
  // Invalid, with those that are known.
  static Result<std::unique_ptr<Machine>> create(MachineOptions options);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // The host's files with the machine's nodes among them: /dev/nvidiactl, /dev/nvidia-uvm,
  // /dev/nvidia0 and so on. `host` is borrowed.
  std::unique_ptr<os::Files> files(os::Files& host);
  // The clock by which the machine's time passes: in lockstep, time goes on when it is asked for or
  // waits, and the GPUs move meanwhile; else the host's. `host` is borrowed.
  std::unique_ptr<os::Clock> clock(os::Clock& host);

  Checks& checks();
  // For drivers in this process: is told what the host accesses; null: races are not judged.
  os::HostAccesses* host_accesses();
  usize gpu_count() const;
  // Reports what the process leaves, as its end would.
  void tell_leaks();
  // Why channels of this GPU stopped last; empty: they did not.
  std::string last_fault(u32 gpu) const;
  // What channels of this GPU wait for, and the value there; empty: none waits.
  std::string waits(u32 gpu) const;
  // Lockstep: until no channel can go on. True if any moved.
  bool run_until_idle();
  // Lockstep: until idle; in adversarial mode only as far as the seed says. True if any moved.
  bool run_some();

  // ---- the nodes, for doors that are no os::Files -----------------------------------------------
  static constexpr int kControlNode = -1, kUvmNode = -2, kNoNode = -3;  // others: the GPU
  // A new descriptor; -1 with errno.
  int open_node(int node);
  int node_of(int descriptor) const;
  // 0 or an errno.
  int ioctl(int descriptor, unsigned long request, u64 argument);
  // What poll() of the descriptor does: waits for an event of RM's, for at most `timeout_ns`. True:
  // one came, and is gone now. Lockstep: the time passes, and the GPUs move meanwhile.
  bool wait_event(int descriptor, u64 timeout_ns);
  // The program polled the descriptor by itself, and learnt of an event.
  void polled(int descriptor);
  // The descriptor was closed.
  void close_node(int descriptor);
  // What mmap() of the descriptor maps: a file and the offset in it; -1: nothing, with errno.
  struct Mapped {
    int file = -1;
    u64 offset = 0, bytes = 0;
    bool is_doorbell = false;
    u32 gpu = 0;
    const u8* host = nullptr;  // the bytes as the GPUs have them
  };
  Mapped mapped(int descriptor) const;
  // The process has mapped what mapped() says.
  void note_mapping(const Mapped& mapped, const u8* at, u64 bytes);
  // A store to the doorbell, in process.
  void ring(u32 gpu, u32 token);

 private:
  struct State;
  explicit Machine(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace doorbell::emu::nvgpu
