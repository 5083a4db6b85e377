// The state of the driver: memory, contexts, streams.
#include "emulator/cuda/driver.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/util/check.h"
#include "base/util/try.h"
#include "emulator/cuda/rules.h"

namespace doorbell::emu::cuda {
namespace {

constexpr u64 kPage = AddressSpace::kPage;
constexpr int kPoison = 0xa5;

u64 round_up(u64 value, u64 to) { return (value + to - 1) / to * to; }

std::unique_ptr<Driver>& installed() {
  // Never destroyed at the end of the process: destructors of the program may call the API.
  static std::unique_ptr<Driver>& driver = *new std::unique_ptr<Driver>;
  return driver;
}

std::atomic<InstallDriver> at_init;

}  // namespace

Driver* driver() { return installed().get(); }
void install(std::unique_ptr<Driver> driver) { installed() = std::move(driver); }
void install_at_init(InstallDriver install) { at_init = install; }

bool ensure_installed() {
  const InstallDriver install = at_init;
  if (install == nullptr) return driver() != nullptr;
  static const bool is_installed = install();
  return is_installed;
}

Result<std::unique_ptr<Driver>> Driver::create(DriverOptions options) {
  std::unique_ptr<Driver> driver(new Driver(std::move(options)));
  TRY(driver->start());
  return driver;
}

Result<void> Driver::start() {
  TRY(const std::vector<Chip> chips, parse_gpus(options_.gpus));
  for (const Chip& chip : chips) {
    gpus.push_back(std::make_unique<Gpu>());
    gpus.back()->chip = chip;
  }
  TRY(checks.configure(options_.checks, all_checks()));
  if (options_.report) checks.listen(options_.report);
  TRY(backing_, Backing::create());
  void* reserved = mmap(nullptr, backing_->bytes(), PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED)
    return fail_errno(errno, "reserve {} bytes of addresses", backing_->bytes());
  device_start_ = reinterpret_cast<u64>(reserved);
  thread_ = std::thread([this] { work(); });
  return {};
}

Driver::~Driver() {
  {
    std::lock_guard lock(mutex);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  for (const auto& [address, allocation] : allocations)
    if (allocation.kind == Allocation::Kind::Pinned)
      munmap(allocation.host, allocation.mapped_bytes);
  if (device_start_ != 0) munmap(reinterpret_cast<void*>(device_start_), backing_->bytes());
}

// ---- contexts -----------------------------------------------------------------------------------

Handle Driver::make_context(int gpu) {
  const Handle handle = next_handle(), stream = next_handle();
  contexts[handle] = {gpu, kSuccess, stream};
  streams[stream] = std::make_unique<Stream>(Stream{handle, 0, {}});
  return handle;
}

void Driver::destroy_context(Handle context) {
  const auto is_its = [context](const auto& entry) { return entry.second.context == context; };
  std::erase_if(streams, [context](const auto& entry) { return entry.second->context == context; });
  std::erase_if(events, is_its);
  std::erase_if(functions, [&](const auto& entry) {
    return modules.at(entry.second.module).context == context;
  });
  std::erase_if(modules, is_its);
  for (auto& [handle, library] : libraries) library.modules.erase(context);
  contexts.erase(context);
}

bool Driver::is_idle_context(Handle context) const {
  return std::ranges::all_of(streams, [&](const auto& entry) {
    return entry.second->context != context || is_idle(*entry.second);
  });
}

// ---- memory -------------------------------------------------------------------------------------

void Driver::map(Allocation& allocation, int gpu) {
  const bool is_pinned = allocation.kind == Allocation::Kind::Pinned;
  AddressSpace& space = gpus[static_cast<usize>(gpu)]->space;
  const u32 buffer = space.add_buffer(
      {allocation.start, allocation.bytes, is_pinned ? "pinned memory" : "device memory"});
  const MemoryType type{is_pinned               ? Place::Host
                        : gpu == allocation.gpu ? Place::Local
                                                : Place::Peer,
                        Caching::Coherent};
  Result<const Range*> range = space.map(allocation.start, allocation.mapped_bytes, allocation.host,
                                         true, false, type, buffer);
  CHECK(range.has_value(), "{}", range ? "" : range.error().message);
  allocation.ranges[gpu] = *range;
}

Allocation* Driver::allocate(Allocation::Kind kind, int gpu, u64 bytes) {
  Allocation made{.kind = kind,
                  .gpu = gpu,
                  .start = 0,
                  .bytes = bytes,
                  .mapped_bytes = round_up(bytes, kPage),
                  .host = nullptr,
                  .offset = 0,
                  .ranges = {}};
  if (kind == Allocation::Kind::Device) {
    Gpu& owner = *gpus[static_cast<usize>(gpu)];
    if (made.mapped_bytes > owner.chip.memory_bytes - owner.used_bytes) return nullptr;
    // A page behind it stays unmapped.
    Result<u64> offset = backing_->allocate(made.mapped_bytes + kPage);
    if (!offset) return nullptr;
    made.offset = *offset;
    made.host = backing_->at(*offset);
    made.start = device_start_ + *offset;
    owner.used_bytes += made.mapped_bytes;
    if (options_.adversarial) std::memset(made.host, kPoison, made.mapped_bytes);
  } else {
    void* memory = mmap(nullptr, made.mapped_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    made.host = static_cast<u8*>(memory);
    made.start = reinterpret_cast<u64>(memory);
  }
  Allocation& placed = allocations.emplace(made.start, std::move(made)).first->second;
  if (kind == Allocation::Kind::Device) {
    map(placed, gpu);
    for (int at = 0; at < static_cast<int>(gpus.size()); ++at)
      if (is_peer(at, gpu)) map(placed, at);
  } else {
    // With unified addressing all contexts see pinned memory.
    for (int at = 0; at < static_cast<int>(gpus.size()); ++at) map(placed, at);
  }
  return &placed;
}

bool Driver::is_peer(int gpu, int peer) const {
  const std::vector<int>& peers = gpus[static_cast<usize>(gpu)]->peers;
  return std::ranges::find(peers, peer) != peers.end();
}

void Driver::enable_peer(int gpu, int peer) {
  gpus[static_cast<usize>(gpu)]->peers.push_back(peer);
  for (auto& [address, allocation] : allocations)
    if (allocation.kind == Allocation::Kind::Device && allocation.gpu == peer) map(allocation, gpu);
}

void Driver::free(u64 start) {
  const auto found = allocations.find(start);
  Allocation& allocation = found->second;
  for (const auto& [gpu, range] : allocation.ranges) {
    AddressSpace& space = gpus[static_cast<usize>(gpu)]->space;
    space.note_freed(range->buffer, ++next_sequence_);
    space.unmap(range);
  }
  if (allocation.kind == Allocation::Kind::Device) {
    gpus[static_cast<usize>(allocation.gpu)]->used_bytes -= allocation.mapped_bytes;
    backing_->free(allocation.offset);
  } else {
    munmap(allocation.host, allocation.mapped_bytes);
  }
  allocations.erase(found);
}

Allocation* Driver::find_allocation(u64 address) {
  auto after = allocations.upper_bound(address);
  if (after == allocations.begin()) return nullptr;
  Allocation& before = std::prev(after)->second;
  return address - before.start < before.bytes ? &before : nullptr;
}

u8* Driver::resolve(u64 address, u64 bytes, std::string* why) {
  Allocation* allocation = find_allocation(address);
  if (allocation == nullptr) {
    if (!is_device_address(address)) return reinterpret_cast<u8*>(address);  // pageable
    *why = fmt::format("{:#x} lies in no allocation", address);
    return nullptr;
  }
  const u64 offset = address - allocation->start;
  if (bytes <= allocation->bytes - offset) return allocation->host + offset;
  *why = fmt::format("{} bytes at {:#x} end {} bytes behind the allocation of {} bytes at {:#x}",
                     bytes, address, offset + bytes - allocation->bytes, allocation->bytes,
                     allocation->start);
  return nullptr;
}

// ---- streams ------------------------------------------------------------------------------------

Stream* Driver::find_stream(Handle handle, Handle current) {
  if (handle <= kStreamPerThread) {
    const auto context = contexts.find(current);
    if (context == contexts.end()) return nullptr;
    handle = context->second.default_stream;
  }
  const auto found = streams.find(handle);
  return found == streams.end() || found->second->destroyed ? nullptr : found->second.get();
}

void Driver::count_uses(const Operation& operation, int change) {
  for (u64 address : {operation.to, operation.from})
    if (Allocation* allocation = address == 0 ? nullptr : find_allocation(address))
      allocation->uses = static_cast<u32>(static_cast<int>(allocation->uses) + change);
}

void Driver::submit(Stream& stream, Operation operation) {
  operation.sequence = ++next_sequence_;
  count_uses(operation, 1);
  stream.operations.push_back(std::move(operation));
  changed_.notify_all();
}

void Driver::wait(std::unique_lock<std::mutex>& lock, const std::function<bool()>& ready) {
  changed_.wait(lock, ready);
}

std::vector<usize> Driver::order_of(const Executable& executable) {
  std::vector<usize> order;
  std::vector<Handle> done;
  std::vector<usize> left(executable.nodes.size());
  for (usize i = 0; i < left.size(); ++i) left[i] = i;
  while (!left.empty()) {
    std::vector<usize> ready;
    for (usize i = 0; i < left.size(); ++i) {
      const std::vector<Handle>& after = executable.nodes[left[i]].second.after;
      if (std::ranges::all_of(
              after, [&](Handle node) { return std::ranges::find(done, node) != done.end(); }))
        ready.push_back(i);
    }
    const usize chosen = options_.adversarial ? ready[random_() % ready.size()] : ready.front();
    const usize node = left[chosen];
    order.push_back(node);
    done.push_back(executable.nodes[node].first);
    left.erase(left.begin() + static_cast<i64>(chosen));
  }
  return order;
}

}  // namespace doorbell::emu::cuda
