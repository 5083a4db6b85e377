// [torvalds/linux Documentation/PCI/sysfs-pci.rst; Documentation/admin-guide/mm/pagemap.rst]
#include "emulator/preload/bare_door.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "base/util/try.h"
#include "emulator/amd/bare/bare_files.h"
#include "emulator/amd/bare/bare_gpu.h"
#include "emulator/amd/bare/bus_memory.h"
#include "emulator/preload/device_faults.h"
#include "emulator/preload/door.h"

namespace doorbell::emu {

using amdgpu::BareGpu;
using amdgpu::BusMemory;

// A GPU and its configuration, a file that programs write.
struct BareDoor::Card {
  BareGpu& gpu;
  std::atomic_ref<u16> command;
};

namespace {

constexpr u64 kCommandAt = 4, kPresent = u64{1} << 63;

// The file's first page, mapped for the process's life.
Result<u8*> map_config(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return fail_errno(errno, "open {}", path);
  void* const mapped =
      mmap(nullptr, BusMemory::kPage, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  const int why = errno;
  (void)close(descriptor);
  if (mapped == MAP_FAILED) return fail_errno(why, "map {}", path);
  return static_cast<u8*>(mapped);
}

int open_again(int descriptor, int flags) {
  return ::open(fmt::format("/proc/self/fd/{}", descriptor).c_str(), flags);
}

}  // namespace

BareDoor::BareDoor(amdgpu::Machine& machine) : machine_(machine) {}

BareDoor::~BareDoor() = default;

Result<std::unique_ptr<BareDoor>> BareDoor::make(amdgpu::Machine& machine, usize gpus,
                                                 const std::string& root) {
  std::unique_ptr<BareDoor> door(new BareDoor(machine));
  for (usize gpu = 0; gpu < gpus; ++gpu) TRY(door->add(gpu, root));
  const int page_map = memfd_create("doorbell-pagemap", MFD_CLOEXEC);
  if (page_map < 0) return fail_errno(errno, "make a page map");
  door->nodes_.push_back({kDoorbellPageMap, page_map});
  return door;
}

// What a program wrote into the configuration counts for the access that follows.
Result<void> BareDoor::add(usize number, const std::string& root) {
  BareGpu& gpu = machine_.bare_gpu(number);
  const std::string config =
      fmt::format("{}/sys/bus/pci/devices/{}/config", root, amdgpu::address_of(gpu));
  TRY(u8* const bytes, map_config(config));
  cards_.push_back(std::make_unique<Card>(
      Card{gpu, std::atomic_ref<u16>(*reinterpret_cast<u16*>(bytes + kCommandAt))}));
  const Card* const card = cards_.back().get();
  const auto settle = [card] { card->gpu.set_command_word(card->command.load()); };
  const int first = kDoorbellPciFirst + static_cast<int>(8 * gpu.device().slot.bus());
  TRY(const int registers,
      make_register_file(fmt::format("doorbell-registers-{}", number),
                         {.read =
                              [card, settle](u64 offset, unsigned size) {
                                settle();
                                u64 value = card->gpu.read_register(offset);
                                if (size == 8)
                                  value |= u64{card->gpu.read_register(offset + 4)} << 32;
                                return value;
                              },
                          .write =
                              [card, settle](u64 offset, unsigned size, u64 value) {
                                settle();
                                card->gpu.write_register(offset, static_cast<u32>(value));
                                if (size == 8)
                                  card->gpu.write_register(offset + 4,
                                                           static_cast<u32>(value >> 32));
                              }}));
  TRY(const int doorbells,
      make_register_file(fmt::format("doorbell-doorbells-{}", number),
                         {.read = [](u64, unsigned) { return u64{0}; },
                          .write =
                              [card, settle](u64 offset, unsigned size, u64 value) {
                                settle();
                                card->gpu.ring(offset, size, value);
                              }}));
  nodes_.push_back({first + 0, gpu.device().memory->descriptor()});
  nodes_.push_back({first + 2, doorbells});
  nodes_.push_back({first + 5, registers});
  return {};
}

int BareDoor::open(int number, int flags) const {
  for (const Node& node : nodes_)
    if (node.number == number) return open_again(node.descriptor, flags);
  errno = ENOENT;
  return -1;
}

int BareDoor::node_of(int descriptor) const {
  struct stat asked{}, own{};
  if (fstat(descriptor, &asked) != 0) return kNoNode;
  for (const Node& node : nodes_)
    if (fstat(node.descriptor, &own) == 0 && own.st_ino == asked.st_ino &&
        own.st_dev == asked.st_dev)
      return node.number;
  return kNoNode;
}

// Whether a page is locked nobody asks: the kernel tells where any page is at the moment.
usize BareDoor::read(int node, void* into, usize bytes, u64 offset) {
  if (node != kDoorbellPageMap) return 0;
  BusMemory& bus = machine_.bus();
  const u64 first = offset / sizeof(u64);
  const usize count = bytes / sizeof(u64);
  for (usize i = 0; i < count; ++i) {
    const u64 page = (first + i) * BusMemory::kPage;
    std::optional<u64> address = bus.address_of(page);
    unsigned char is_there = 0;
    u8* const host = reinterpret_cast<u8*>(page);
    // Fails where nothing is mapped.
    if (!address && mincore(host, BusMemory::kPage, &is_there) == 0) {
      bus.pin(host, BusMemory::kPage);
      address = bus.address_of(page);
    }
    const u64 entry = address ? kPresent | *address / BusMemory::kPage : 0;
    std::memcpy(static_cast<u8*>(into) + i * sizeof entry, &entry, sizeof entry);
  }
  return count * sizeof(u64);
}

void BareDoor::unmapped(void* start, u64 bytes) {
  u8* const host = static_cast<u8*>(start);
  if (!machine_.bus().has_pages(host, bytes)) return;
  for (const auto& card : cards_) card->gpu.host_unpinned(host, bytes);
  machine_.bus().unpin_pages(host, bytes);
}

}  // namespace doorbell::emu
