// A library with NCCL's functions that moves memory of emulated GPUs between processes of one
// machine, and fails when it is told to. Written from nccl.h and the NCCL User Guide: a call of a
// communicator that does not block returns InProgress, and is on its stream only when
// ncclCommGetAsyncError says Success; work starts in the order of the stream and ends when all
// processes have called; between ncclGroupStart and ncclGroupEnd calls are one. It checks that the
// processes call the same in the same order, that memory is the GPU's, that nobody uses what was
// aborted, and that one thread calls at a time: other uses end the process.
//
//   NCCL_STAND_IN_LOG    a file for each process, with its rank behind the name: a line per call
//   NCCL_STAND_IN_FAULT  KIND:RANK:CALL; in that call of that rank (0: its start)
//     silent   it never comes, and says that it is in progress
//     refused  it is refused: unhandled system error
//     broken   a remote process is said to have gone
//     killed   the process kills itself
#include <signal.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "tests/drivers/nccl_stand_in/combine.h"

using namespace doorbell;            // NOLINT(google-build-using-namespace): C functions below
using namespace doorbell::stand_in;  // NOLINT(google-build-using-namespace): likewise
using cuda::nccl::Config;
using cuda::nccl::UniqueId;

namespace {

const cuda::Api* driver = nullptr;

[[noreturn]] void die(const char* why) {
  std::fprintf(stderr, "NCCL's stand-in: %s\n", why);
  std::abort();
}

void must(cuda::CUresult result, const char* call) {
  if (result != cuda::kSuccess) die(call);
}

struct Call {
  Promise promise;
  const void* from = nullptr;
  void* to = nullptr;
  usize from_bytes = 0, to_bytes = 0;
  int peer = 0;
  cuda::CUstream stream = nullptr;
  u8 *staged_from = nullptr, *staged_to = nullptr;  // pinned
};
using Calls = std::vector<Call>;

std::string fault_of(int rank, u64 call) {
  const char* text = std::getenv("NCCL_STAND_IN_FAULT");
  char kind[16] = "";
  int at_rank = -1, at_call = -1;
  if (text == nullptr || std::sscanf(text, "%15[a-z]:%d:%d", kind, &at_rank, &at_call) != 3)
    return "";
  return rank == at_rank && call == static_cast<u64>(at_call) ? kind : "";
}

}  // namespace

struct ncclComm {
  int rank = 0, ranks = 0;
  std::string name;
  cuda::CUcontext context = nullptr;
  Shared* shared = nullptr;
  u64 barriers = 0, made = 0;  // calls, of which a group is one
  std::atomic<bool> aborted{false};
  std::mutex mutex;  // guards what follows
  std::condition_variable changed;
  std::deque<Calls> waiting;
  Status state = Status::InProgress;
  std::string last_error;
  std::thread thread;

  void log(const std::string& line) const {
    if (const char* file = std::getenv("NCCL_STAND_IN_LOG"))
      std::ofstream(file + std::to_string(rank), std::ios::app) << line << "\n";
  }
  void set(Status status, const std::string& error = "") {
    std::lock_guard lock(mutex);
    if (state != Status::Success && state != Status::InProgress) return;
    state = status;
    last_error = error;
  }
  // Arrives, and waits for the others.
  bool barrier() {
    ++barriers;
    shared->barriers.fetch_add(1);
    return wait_until(
        aborted, [&] { return shared->barriers.load() >= barriers * static_cast<u64>(ranks); });
  }
  // Whether there is nothing more to do for this call.
  bool suffers(u64 call) {
    const std::string fault = fault_of(rank, call);
    if (fault == "silent") return true;
    if (fault == "refused") set(Status::SystemError, "no route");
    if (fault == "broken") set(Status::RemoteError, "connection closed by remote peer");
    if (fault == "killed") (void)raise(SIGKILL);
    return !fault.empty();
  }

  void work();
  void start();
  void run(Calls& calls);
  void stage(Call& call);
  bool exchange(Calls& calls);
  bool collect(const Call& call);
  bool deliver(Calls& calls);
};

namespace {

std::set<ncclComm*> alive;
std::mutex in_call;  // one thread at a time
thread_local int group_depth = 0;
thread_local Calls group_calls;
thread_local ncclComm* group_comm = nullptr;

// While a function of the library runs.
struct Entered {
  Entered() {
    if (!in_call.try_lock()) die("two threads call at once");
  }
  ~Entered() { in_call.unlock(); }
};

ncclComm& check(ncclComm* comm) {
  if (!alive.contains(comm)) die("a communicator that is not there");
  return *comm;
}

void check_memory(const void* memory, usize bytes, const char* what) {
  if (bytes == 0) return;
  u32 type = 0;
  const auto address = reinterpret_cast<u64>(memory);
  for (const u64 at : {address, address + bytes - 1})
    if (driver->cuPointerGetAttribute(&type, cuda::PointerAttribute::MemoryType, at) !=
            cuda::kSuccess ||
        type != cuda::kMemoryTypeDevice)
      die(what);
}

Status submit(ncclComm& comm, Calls calls) {
  std::lock_guard lock(comm.mutex);
  if (comm.state == Status::InProgress) die("a call before the one before it has begun");
  if (comm.state != Status::Success) return comm.state;
  comm.state = Status::InProgress;
  comm.waiting.push_back(std::move(calls));
  comm.changed.notify_all();
  return Status::InProgress;
}

Status add(ncclComm* given, Call call) {
  ncclComm& comm = check(given);
  check_memory(call.from, call.from_bytes, "what is sent is no memory of a GPU");
  check_memory(call.to, call.to_bytes, "what is received is no memory of a GPU");
  if (group_depth == 0) return submit(comm, {call});
  if (group_comm != nullptr && group_comm != given) die("two communicators in a group");
  group_comm = given;
  group_calls.push_back(call);
  return Status::Success;
}

constexpr const char* kNames[] = {"AllReduce", "ReduceScatter", "AllGather",
                                  "Broadcast", "Send",          "Recv"};

}  // namespace

void ncclComm::work() {
  must(driver->cuCtxPushCurrent(context), "cuCtxPushCurrent");
  start();
  for (;;) {
    Calls calls;
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return aborted.load() || !waiting.empty(); });
      if (aborted.load()) break;
      calls = std::move(waiting.front());
      waiting.pop_front();
    }
    run(calls);
  }
  cuda::CUcontext ours = nullptr;
  (void)driver->cuCtxPopCurrent(&ours);
}

void ncclComm::start() {
  if (suffers(0)) return;
  shared->arrived.fetch_add(1);
  if (!wait_until(aborted, [&] { return shared->arrived.load() == static_cast<u32>(ranks); }))
    return;
  remove_shared(name.c_str());
  set(Status::Success);
}

void ncclComm::stage(Call& call) {
  const auto pinned = [](usize bytes) {
    void* memory = nullptr;
    if (bytes > 0)
      must(driver->cuMemHostAlloc(&memory, bytes, cuda::kHostPortable), "cuMemHostAlloc");
    return static_cast<u8*>(memory);
  };
  call.staged_from = pinned(call.from_bytes);
  call.staged_to = pinned(call.to_bytes);
  if (call.from_bytes > 0)
    must(driver->cuMemcpyAsync(reinterpret_cast<u64>(call.staged_from),
                               reinterpret_cast<u64>(call.from), call.from_bytes, call.stream),
         "cuMemcpyAsync to the host");
}

// A stream waits in it for the exchange, as for a kernel.
void ncclComm::run(Calls& calls) {
  const bool is_silent = suffers(++made);
  if (is_silent && fault_of(rank, made) != "silent") return;
  cuda::CUstream stream = calls[0].stream;
  void* memory = nullptr;
  must(driver->cuMemHostAlloc(&memory, 2 * sizeof(u64), cuda::kHostPortable), "cuMemHostAlloc");
  u64* words = static_cast<u64*>(memory);
  words[0] = words[1] = 0;
  for (Call& call : calls) {
    log(std::string(kNames[static_cast<int>(call.promise.kind)]) + " " +
        std::to_string(call.promise.count) + " " +
        std::to_string(static_cast<int>(call.promise.type)));
    stage(call);
  }
  const u64 address = reinterpret_cast<u64>(words);
  must(driver->cuStreamWriteValue64(stream, address, 1, cuda::kWriteDefault), "a write");
  must(driver->cuStreamWaitValue64(stream, address + 8, 1, cuda::kWaitAtLeast), "a wait");
  for (Call& call : calls)
    if (call.to_bytes > 0)
      must(driver->cuMemcpyAsync(reinterpret_cast<u64>(call.to),
                                 reinterpret_cast<u64>(call.staged_to), call.to_bytes, stream),
           "cuMemcpyAsync from the host");
  set(Status::Success);
  const std::atomic_ref<u64> begun(words[0]);
  if (wait_until(aborted, [&] { return begun.load() == 1; }) && !is_silent) exchange(calls);
  if (is_silent) wait_until(aborted, [] { return false; });
  std::atomic_ref<u64>(words[1]).store(1);
  // Freed when the stream has passed, which happens by itself.
  must(driver->cuStreamSynchronize(stream), "cuStreamSynchronize");
  for (Call& call : calls)
    for (u8* staged : {call.staged_from, call.staged_to})
      if (staged != nullptr) must(driver->cuMemFreeHost(staged), "cuMemFreeHost");
  must(driver->cuMemFreeHost(memory), "cuMemFreeHost");
}

// Whether all processes promised the same, and it was done.
bool ncclComm::exchange(Calls& calls) {
  const bool is_message = calls[0].promise.kind >= Kind::Send;
  if (is_message) return deliver(calls);
  for (Call& call : calls) {
    call.promise.number = made;
    shared->promises[rank] = call.promise;
    if (!barrier()) return false;
    for (int i = 0; i < ranks; ++i)
      if (!(shared->promises[i] == call.promise)) {
        set(Status::InvalidUsage, "rank " + std::to_string(i) + " calls something else");
        return false;
      }
    if (!collect(call)) return false;
  }
  return true;
}

// Chunk by chunk of what each process gives to one other, or to all.
bool ncclComm::collect(const Call& call) {
  const Promise& promise = call.promise;
  const usize element = bytes_of(promise.type), bytes = promise.count * element;
  const usize blocks = promise.kind == Kind::ReduceScatter ? static_cast<usize>(ranks) : 1;
  for (usize block = 0; block < blocks; ++block)
    for (usize at = 0; at < bytes; at += kChunk) {
      const usize size = std::min(kChunk, bytes - at);
      if (call.staged_from != nullptr)
        std::memcpy(shared->data[rank], call.staged_from + block * bytes + at, size);
      if (!barrier()) return false;
      const auto sum = [&](u8* into) {
        std::memcpy(into, shared->data[0], size);
        for (int i = 1; i < ranks; ++i)
          combine(promise.type, promise.combine, into, shared->data[i], size / element);
      };
      if (promise.kind == Kind::AllReduce) sum(call.staged_to + at);
      if (promise.kind == Kind::ReduceScatter && block == static_cast<usize>(rank))
        sum(call.staged_to + at);
      if (promise.kind == Kind::Broadcast)
        std::memcpy(call.staged_to + at, shared->data[promise.root], size);
      if (promise.kind == Kind::AllGather)
        for (int i = 0; i < ranks; ++i)
          std::memcpy(call.staged_to + static_cast<usize>(i) * bytes + at, shared->data[i], size);
      if (!barrier()) return false;
    }
  return true;
}

// All messages of a group move at once.
bool ncclComm::deliver(Calls& calls) {
  std::vector<usize> moved(calls.size());
  const auto move = [&](usize i) {
    const Call& call = calls[i];
    const bool sends = call.promise.kind == Kind::Send;
    const usize total = sends ? call.from_bytes : call.to_bytes;
    if (moved[i] == total) return true;
    Letter& letter = sends ? shared->letters[rank][call.peer] : shared->letters[call.peer][rank];
    if (sends && letter.bytes.load() == 0) {
      const usize size = std::min(kLetter, total - moved[i]);
      letter.total = total;
      std::memcpy(letter.data, call.staged_from + moved[i], size);
      letter.bytes.store(static_cast<u32>(size));
      moved[i] += size;
    } else if (!sends && letter.bytes.load() > 0) {
      if (letter.total != total) {
        set(Status::InvalidUsage, "a message of another size than is received");
        aborted.store(true);
        return true;
      }
      std::memcpy(call.staged_to + moved[i], letter.data, letter.bytes.load());
      moved[i] += letter.bytes.load();
      letter.bytes.store(0);
    }
    return moved[i] == total;
  };
  return wait_until(aborted, [&] {
    bool all = true;
    for (usize i = 0; i < calls.size(); ++i) all &= move(i);
    return all;
  });
}

extern "C" {

void doorbell_use_emulated_cuda(const cuda::Api* api) { driver = api; }

Status ncclGetVersion(int* version) {
  *version = 22705;
  return Status::Success;
}

const char* ncclGetErrorString(Status status) {
  constexpr const char* kTexts[] = {"no error",
                                    "unhandled cuda error",
                                    "system error",
                                    "internal error",
                                    "invalid argument",
                                    "invalid usage",
                                    "remote process exited or there was a network error",
                                    "NCCL operation in progress"};
  return kTexts[static_cast<int>(status)];
}

const char* ncclGetLastError(ncclComm* comm) {
  static std::string& text = *new std::string;
  if (comm == nullptr) return "";
  std::lock_guard lock(comm->mutex);
  text = comm->last_error;
  return text.c_str();
}

Status ncclGetUniqueId(UniqueId* id) {
  std::random_device random;
  std::snprintf(id->internal, sizeof id->internal, "doorbell_nccl_%08x%08x", random(), random());
  return Status::Success;
}

Status ncclCommInitRankConfig(ncclComm** made, int ranks, UniqueId id, int rank, Config* config) {
  const Entered entered;
  if (driver == nullptr || config->magic != 0xcafebeef || config->size != sizeof(Config) ||
      config->blocking != 0 || ranks < 1 || ranks > kMaxRanks || rank < 0 || rank >= ranks)
    return Status::InvalidArgument;
  auto* comm = new ncclComm;
  comm->rank = rank;
  comm->ranks = ranks;
  comm->name = id.internal;
  comm->shared = open_shared(id.internal);
  must(driver->cuCtxPopCurrent(&comm->context), "the caller's context");
  must(driver->cuCtxPushCurrent(comm->context), "the caller's context");
  if (comm->shared == nullptr) return Status::SystemError;
  comm->log("start of " + std::to_string(ranks));
  comm->thread = std::thread([comm] { comm->work(); });
  alive.insert(comm);
  *made = comm;
  return Status::InProgress;
}

Status ncclCommAbort(ncclComm* given) {
  const Entered entered;
  ncclComm& comm = check(given);
  comm.log("abort");
  {
    std::lock_guard lock(comm.mutex);
    comm.aborted.store(true);
  }
  comm.changed.notify_all();
  comm.thread.join();
  munmap(comm.shared, sizeof(Shared));
  remove_shared(comm.name.c_str());
  alive.erase(given);
  delete given;
  return Status::Success;
}

Status ncclCommGetAsyncError(ncclComm* given, Status* state) {
  const Entered entered;
  ncclComm& comm = check(given);
  std::lock_guard lock(comm.mutex);
  *state = comm.state;
  return Status::Success;
}

Status ncclGroupStart() {
  ++group_depth;
  return Status::Success;
}

Status ncclGroupEnd() {
  const Entered entered;
  if (group_depth == 0) return Status::InvalidUsage;
  if (--group_depth > 0 || group_comm == nullptr) return Status::Success;
  return submit(*std::exchange(group_comm, nullptr), std::exchange(group_calls, {}));
}

Status ncclAllReduce(const void* from, void* to, usize count, Type type, Combine combine,
                     ncclComm* comm, cuda::CUstream stream) {
  const Entered entered;
  const usize bytes = count * bytes_of(type);
  return add(comm, {.promise = {0, Kind::AllReduce, count, type, combine, 0},
                    .from = from,
                    .to = to,
                    .from_bytes = bytes,
                    .to_bytes = bytes,
                    .stream = stream});
}

Status ncclReduceScatter(const void* from, void* to, usize count, Type type, Combine combine,
                         ncclComm* comm, cuda::CUstream stream) {
  const Entered entered;
  const usize bytes = count * bytes_of(type);
  return add(comm, {.promise = {0, Kind::ReduceScatter, count, type, combine, 0},
                    .from = from,
                    .to = to,
                    .from_bytes = bytes * static_cast<usize>(check(comm).ranks),
                    .to_bytes = bytes,
                    .stream = stream});
}

Status ncclAllGather(const void* from, void* to, usize count, Type type, ncclComm* comm,
                     cuda::CUstream stream) {
  const Entered entered;
  const usize bytes = count * bytes_of(type);
  return add(comm, {.promise = {0, Kind::AllGather, count, type, Combine::Sum, 0},
                    .from = from,
                    .to = to,
                    .from_bytes = bytes,
                    .to_bytes = bytes * static_cast<usize>(check(comm).ranks),
                    .stream = stream});
}

Status ncclBroadcast(const void* from, void* to, usize count, Type type, int root, ncclComm* comm,
                     cuda::CUstream stream) {
  const Entered entered;
  if (root < 0 || root >= check(comm).ranks) return Status::InvalidArgument;
  const usize bytes = count * bytes_of(type);
  return add(comm, {.promise = {0, Kind::Broadcast, count, type, Combine::Sum, root},
                    .from = from,
                    .to = to,
                    .from_bytes = comm->rank == root ? bytes : 0,
                    .to_bytes = bytes,
                    .stream = stream});
}

Status ncclSend(const void* from, usize count, Type type, int peer, ncclComm* comm,
                cuda::CUstream stream) {
  const Entered entered;
  return add(comm, {.promise = {0, Kind::Send, count, type, Combine::Sum, 0},
                    .from = from,
                    .from_bytes = count * bytes_of(type),
                    .peer = peer,
                    .stream = stream});
}

Status ncclRecv(void* to, usize count, Type type, int peer, ncclComm* comm, cuda::CUstream stream) {
  const Entered entered;
  return add(comm, {.promise = {0, Kind::Recv, count, type, Combine::Sum, 0},
                    .to = to,
                    .to_bytes = count * bytes_of(type),
                    .peer = peer,
                    .stream = stream});
}

}  // extern "C"
