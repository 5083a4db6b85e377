// Ioctls of the emulated KFD driver, any arguments in any order: each is answered with 0 or an
// errno, nothing fails a check of ours, and what was given can be taken back.
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "drivers/amd/hw/drm.h"
#include "drivers/amd/hw/kfd.h"
#include "emulator/amd/kfd/kfd.h"

using namespace doorbell;
using namespace doorbell::emu;
using namespace doorbell::emu::amdgpu;
namespace hw = doorbell::amd::hw;

namespace {

class StandingEngine final : public Engine {
 public:
  Result<QueueId> add_queue(const QueueDescription&) override { return next_++; }
  Result<void> remove_queue(QueueId) override { return {}; }
  Result<void> update_queue(QueueId, const QueueDescription&) override { return {}; }
  Result<std::vector<SavedContext>> save_waves(QueueId, const SaveOptions&) override {
    // One wave of a group: its word, and bytes for its state.
    SavedContext context;
    context.pushed = {0x20001000, 0, 0x81000000};
    context.state.resize(1280);
    return std::vector{context};
  }
  void ring(QueueId, u64, unsigned) override {}
  void unmapped(u64, u64) override {}

 private:
  QueueId next_ = 0;
};

class Bytes {
 public:
  Bytes(const u8* data, usize size) : data_(data), size_(size) {}
  bool empty() const { return at_ >= size_; }
  u64 take(unsigned bytes) {
    u64 value = 0;
    for (unsigned i = 0; i < bytes && at_ < size_; ++i) value |= u64{data_[at_++]} << (8 * i);
    return value;
  }

 private:
  const u8* data_;
  usize size_, at_ = 0;
};

struct World {
  Kfd& kfd;
  Bytes bytes;
  std::vector<u8> arena = std::vector<u8>(1 << 16);  // what pointers may point to
  std::vector<u64> known;                            // ids, handles, addresses that were given
  int render = -1;

  // Mostly something that means something; else what the bytes say. Pointers are never wild: the
  // kernel would write through them.
  u64 value(std::string_view name, unsigned width) {
    u64 choice = bytes.take(1);
    if (name.ends_with("ptr")) return choice < 32 ? choice % 16 : arena_at(choice);
    if (name == "drm_fd" || name == "dmabuf_fd")
      return choice < 200 ? static_cast<u64>(render) : bytes.take(4);
    if (choice < 120 && !known.empty()) return known[choice % known.size()];
    if (choice < 160) return u64{1} << (choice % 48);
    if (choice < 200) return choice - 160;
    return bytes.take(width);
  }
  u64 arena_at(u64 choice) const {
    return reinterpret_cast<u64>(arena.data()) + (choice * 256) % (arena.size() - 4096);
  }
};

template <class T>
void call(World& world, int (*ioctl)(Kfd&, u32, u64)) {
  T arguments{};
  T::fields(arguments, [&](const char* name, auto& field) {
    using Field = std::remove_reference_t<decltype(field)>;
    field = static_cast<Field>(world.value(name, sizeof(Field)));
  });
  if constexpr (std::is_same_v<T, hw::KfdWaitEvents>) arguments.num_events %= 64;
  if constexpr (std::is_same_v<T, hw::KfdMapMemory> || std::is_same_v<T, hw::KfdUnmapMemory>)
    arguments.n_devices %= 64;
  int why = ioctl(world.kfd, hw::kRequest<T>, reinterpret_cast<u64>(&arguments));
  // The kernel's own ENOTSUPP comes through too.
  if (why != 524 && (why < 0 || why > 133)) std::abort();
  if (why) return;
  if constexpr (std::is_same_v<T, hw::KfdAllocMemory>) {
    world.known.push_back(arguments.handle);
    world.known.push_back(arguments.va_addr);
  }
  if constexpr (std::is_same_v<T, hw::KfdExportDmabuf>)
    close(static_cast<int>(arguments.dmabuf_fd));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8* data, std::size_t size);

int LLVMFuzzerTestOneInput(const u8* data, std::size_t size) {
  Checks checks(Level::Warn);
  StandingEngine engine;
  const std::vector<std::string> gpus = {"gfx1100", "gfx942"};
  std::unique_ptr<Kfd> kfd =
      std::move(*Kfd::create({.slots = *make_slots(gpus), .checks = &checks}));
  kfd->events().set_advance([] { return Events::Advance::Still; });
  World world{.kfd = *kfd, .bytes = Bytes(data, size)};
  for (const auto& device : kfd->devices()) {
    device->engine = &engine;
    world.known.push_back(device->slot.gpu_id());
  }
  world.render = kfd->devices()[0]->memory->descriptor();
  // Half of the time the usual beginning was done.
  if (world.bytes.take(1) & 1)
    for (const auto& device : kfd->devices()) device->acquired = true;
  for (int step = 0; step < 200 && !world.bytes.empty(); ++step) {
    u64 number = world.bytes.take(1);
    if (number >= 0xf0) {
      hw::for_each_drm_ioctl([&](auto example) {
        using T = decltype(example);
        if (T::kNumber % 8 == number % 8 && !std::is_same_v<T, hw::DrmVersion>)
          call<T>(world, [](Kfd& k, u32 request, u64 a) { return k.render_ioctl(0, request, a); });
      });
      continue;
    }
    hw::for_each_kfd_ioctl([&](auto example) {
      using T = decltype(example);
      if (T::kNumber == number % 0x28)
        call<T>(world, [](Kfd& k, u32 request, u64 a) { return k.ioctl(request, a); });
    });
  }
  kfd->queues().destroy_all();
  return 0;
}
