// Driver: the state behind the emulated CUDA driver API, one for the process, because the API has
// no handle for it: GPUs, contexts, memory, streams, events, modules, libraries, graphs. The
// functions (functions.def, api_*.cc) check and queue; one thread runs what streams hold, each in
// its order and, in adversarial mode, in the worst order among them. Kernels are run by kernels.h.
//
// Thread safety: what follows a mutex in a struct is guarded by Driver::mutex unless said
// otherwise; the API's functions take it (call.h).
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/os/fork.h"
#include "base/util/result.h"
#include "emulator/core/address_space.h"
#include "emulator/core/backing.h"
#include "emulator/core/checks.h"
#include "emulator/core/counts.h"
#include "emulator/cuda/abi.h"
#include "emulator/cuda/chip.h"
#include "emulator/cuda/kernels.h"

namespace doorbell::emu::cuda {

struct DriverOptions {
  std::string gpus = "sm_90";    // as parse_gpus() takes it
  std::string checks = "error";  // as Checks::configure() takes it
  bool adversarial = false;      // poisoned memory, the worst order of streams and of graphs' nodes
  u64 seed = 0;                  // of that order
  u64 hang_after = 0;            // warp instructions after which a kernel faults; 0: never
  // Gets what each kernel executes; null: nothing is counted. shared_ptr: with whoever reads it.
  std::shared_ptr<Counts> counts;
  std::function<void(const Report&)> report;  // each broken rule; null: nobody is told
  // Of an image; tests have kernels of their own.
  std::function<Result<std::unique_ptr<Code>>(const void* image, const Chip& chip)> load =
      Code::load;
};

struct Gpu {
  Chip chip;
  AddressSpace space;  // what its kernels reach
  u64 used_bytes = 0;
  std::vector<int> peers;  // whose memory it sees
  Handle primary = 0;      // context; 0: not retained
  int retained = 0;
};

struct Context {
  int gpu;
  int status = kSuccess;  // sticky, once a kernel faulted
  Handle default_stream = 0;
};

struct Allocation {
  enum class Kind : u8 { Device, Pinned };
  Kind kind;
  int gpu;  // whose context allocated it
  u64 start, bytes, mapped_bytes;
  u8* host;
  u64 offset;                          // in the backing, of device memory
  std::map<int, const Range*> ranges;  // by the GPU that sees it
  u32 uses = 0;                        // submitted operations that name it
};

// One recording of an event.
struct Record {
  bool done = false;
  u64 time_ns = 0;
};
struct Event {
  Handle context;
  u32 flags;
  std::shared_ptr<Record> last;  // null: never recorded; shared with the streams that wait for it
};

struct Operation {
  enum class Kind : u8 { Kernel, Copy, Fill, Write, Wait, Record, WaitEvent, Call };
  Kind kind;
  u64 sequence = 0;  // of submission, over all streams
  u64 to = 0, from = 0, bytes = 0;
  u64 value = 0;
  u32 width = 8;  // bytes of the value, or of the pattern
  u32 flags = 0;  // of a wait
  std::shared_ptr<Record> record;
  std::shared_ptr<const KernelLaunch> launch;  // shared with the graph that it came from
  void (*function)(void*) = nullptr;
  void* argument = nullptr;
};

struct Stream {
  Handle context;
  u32 flags;
  std::deque<Operation> operations;
  bool busy = false;       // the first runs now
  bool destroyed = false;  // gone when it is empty
};

struct Module {
  Handle context;
  std::unique_ptr<Code> code;
  u64 globals = 0;  // address of its variables, or 0
  std::map<std::string, Handle, std::less<>> functions;
};
struct Function {
  Handle module;
  const KernelFacts* kernel;  // of the module's code
  u32 max_dynamic_shared;     // bytes: CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
};

// An image that every context loads when it first needs it: as a module, made by library_module()
// (api_library.cc).
struct Library {
  std::vector<u8> image;
  std::map<Handle, Handle> modules;  // by context
  std::map<std::string, Handle, std::less<>> kernels;
};
// A function of whatever context is current.
struct LibraryKernel {
  Handle library;
  std::string name;
  std::map<int, u32> max_dynamic_shared;  // by GPU, where an attribute was set
};

struct GraphNode {
  Handle graph;
  std::vector<Handle> after;
  std::shared_ptr<const KernelLaunch> launch;  // null: an empty node
};
struct Graph {
  std::vector<Handle> nodes;  // in order of adding, which dependencies follow
};
struct Executable {
  Handle graph;  // may be destroyed
  std::vector<std::pair<Handle, GraphNode>> nodes;
};

class Driver {
 public:
  static Result<std::unique_ptr<Driver>> create(DriverOptions options);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // ---- under the mutex --------------------------------------------------------------------------
  Handle next_handle() { return next_handle_ += 16; }
  Stream* find_stream(Handle handle, Handle current);
  void submit(Stream& stream, Operation operation);
  bool is_idle(const Stream& stream) const { return stream.operations.empty(); }
  // Until `ready`, which other threads make true; unlocks meanwhile.
  void wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& ready);
  // All streams of a context.
  bool is_idle_context(Handle context) const;

  Handle make_context(int gpu);
  void destroy_context(Handle context);
  Allocation* allocate(Allocation::Kind kind, int gpu, u64 bytes);
  void free(u64 start);
  // Lets a GPU see the device memory of another, what there is and what will be.
  void enable_peer(int gpu, int peer);
  bool is_peer(int gpu, int peer) const;
  Result<std::unique_ptr<Code>> load_code(const void* image, const Chip& chip) const {
    return options_.load(image, chip);
  }
  // That contains the address, or null.
  Allocation* find_allocation(u64 address);
  bool is_device_address(u64 address) const {
    return address >= device_start_ && address - device_start_ < backing_->bytes();
  }
  // What a copy or fill may touch; null where it may not, and then why.
  u8* resolve(u64 address, u64 bytes, std::string* why);
  // A fresh order of a graph's nodes that their dependencies allow.
  std::vector<usize> order_of(const Executable& executable);

  // A forked child has neither the thread nor the memory.
  const os::ForkGuard process;
  std::mutex mutex;
  Checks checks;
  bool initialised = false;
  std::vector<std::unique_ptr<Gpu>> gpus;
  std::map<Handle, Context> contexts;
  std::map<u64, Allocation> allocations;  // by address
  std::map<Handle, std::unique_ptr<Stream>> streams;
  std::map<Handle, Event> events;
  std::map<Handle, Module> modules;
  std::map<Handle, Function> functions;
  std::map<Handle, Library> libraries;
  std::map<Handle, LibraryKernel> kernels;  // of libraries
  std::map<Handle, Graph> graphs;
  std::map<Handle, GraphNode> nodes;
  std::map<Handle, Executable> executables;
  std::string last_fault;

 private:
  explicit Driver(DriverOptions options) : options_(std::move(options)), random_(options_.seed) {}
  Result<void> start();
  void map(Allocation& allocation, int gpu);
  // The thread that runs operations.
  void work();
  Stream* pick();
  bool is_blocked(const Stream& stream);
  bool passes(const Stream& stream, const Operation& operation);
  void run(Stream& stream, std::unique_lock<std::mutex>& lock);
  void run_kernel(Handle context, const KernelLaunch& launch, std::unique_lock<std::mutex>& lock);
  void run_copy(Handle context, const Operation& operation);
  void count_uses(const Operation& operation, int change);
  void fault(Handle context, int status, const std::string& message);

  const DriverOptions options_;
  std::mt19937_64 random_;
  std::unique_ptr<Backing> backing_;
  u64 device_start_ = 0;  // the address of the backing's offset 0: reserved, never readable
  Handle next_handle_ = 0x7d00'0000'0000;
  u64 next_sequence_ = 0;
  usize turn_ = 0;
  bool waits_for_memory_ = false;  // a stream waits for a value that the host may write
  bool stop_ = false;
  std::condition_variable changed_;
  std::thread thread_;  // last: it uses all of the above
};

// The driver of the process; null before install(). Never destroyed while functions run.
Driver* driver();
// Replaces it; tests take it away again with null.
void install(std::unique_ptr<Driver> driver);
// What the first cuInit() calls to have a driver installed, by whichever way the client found
// cuInit(); false: there will be none.
using InstallDriver = bool (*)();
void install_at_init(InstallDriver install);
// Whether a driver is installed, after that call where there is one.
bool ensure_installed();

}  // namespace doorbell::emu::cuda
