// Rings of any words through the command processors and copy engines of emulated GPUs: whatever a
// client puts there, a queue goes on, waits, or stops with a fault or an exception of its own; the
// process that the emulator runs in does not end. Grids retire at once, nothing is executed.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "base/util/check.h"
#include "emulator/amd/cp/gpu.h"
#include "emulator/amd/cp/launcher.h"
#include "emulator/core/address_space.h"
#include "emulator/core/checks.h"

using namespace doorbell;
using namespace doorbell::emu;
using namespace doorbell::emu::amdgpu;
namespace hw = doorbell::amd::hw;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, std::size_t size);

namespace {

// Where the seeds' packets point.
constexpr u64 kBase = 0x7f00'0000'0000, kBytes = 0x10000;
constexpr u64 kRing = kBase, kRingBytes = 0x1000;
constexpr u64 kPointers = kBase + 0x2000;  // amd_queue_t of AQL
constexpr u64 kEop = kBase + 0x3000, kIb = kBase + 0x4000;
constexpr u64 kDescriptor = kBase + 0x5fc0;
constexpr usize kHead = 3;  // bytes before the words

class DoneGrid final : public RunningGrid {
 public:
  GridState run(u64) override { return GridState::Done; }
};

class DoneLauncher final : public Launcher {
 public:
  std::unique_ptr<RunningGrid> launch(const Dispatch&, Caches*) override {
    return std::make_unique<DoneGrid>();
  }
};

class Listener final : public Interrupts {
 public:
  void signal(u32, unsigned) override {}
  void memory_fault(const MemoryFault& fault) override { judge(fault.what); }
  void hw_exception(const HwException& exception) override { judge(exception.what); }

 private:
  static void judge(const std::string& what) {
    CHECK(what.find("the emulator failed") == std::string::npos, "{}", what);
    CHECK(!what.empty(), "a queue stops without a word");
  }
};

struct World {
  std::vector<u8> bytes = std::vector<u8>(kBytes);
  AddressSpace space;

  World() {
    u32 buffer = space.add_buffer({.va = kBase, .bytes = kBytes, .kind = "VRAM"});
    space.map(kBase, kBytes, bytes.data(), true, true, {Place::Local, Caching::Cached}, buffer)
        .value();
    put<u32>(kPointers + 136, 128);             // read_dispatch_id_field_base_byte_offset
    put<u64>(kPointers + 192, kBase + 0x5040);  // queue_inactive_signal
    put<u64>(kDescriptor + 16, 0x40);
    put<u16>(kDescriptor + 56, 1 << 3 | 1 << 10);
  }
  template <class T>
  void put(u64 va, T value) {
    std::memcpy(bytes.data() + (va - kBase), &value, sizeof value);
  }
};

}  // namespace

// Input: kind and generation; how it runs; the low bits of both pointers; then the words of the
// ring, which an indirect buffer has too.
int LLVMFuzzerTestOneInput(const u8* data, std::size_t size) {
  if (size < kHead) return 0;
  World world;
  auto kind = static_cast<QueueKind>(data[0] % 3);
  usize words = std::min<usize>(size - kHead, kRingBytes - 64) / 4;
  std::memcpy(world.bytes.data(), data + kHead, words * 4);
  std::memcpy(world.bytes.data() + (kIb - kBase), data + kHead, words * 4);

  constexpr Level kLevels[] = {Level::Error, Level::Warn, Level::Off};
  Checks checks(kLevels[data[1] / 4 % 3]);
  Listener listener;
  DoneLauncher launcher;
  Gpu gpu({.generation = static_cast<hw::Generation>(data[0] / 3 % hw::kGenerations),
           .xccs = data[1] & 2 ? 2u : 1u,
           .memory = &world.space,
           .interrupts = &listener,
           .checks = &checks,
           .launcher = &launcher,
           .lockstep = true,
           .adversarial = (data[1] & 1) != 0,
           .seed = data[1]});
  bool aql = kind == QueueKind::Aql;
  QueueDescription description{.kind = kind,
                               .ring = kRing,
                               .ring_bytes = kRingBytes,
                               .read_pointer = kPointers + 128 + data[2] % 16,
                               .write_pointer = kPointers + 56 + data[2] / 16,
                               .eop = kEop,
                               .eop_bytes = 4096};
  QueueId queue = gpu.add_queue(description).value();
  u64 end = kind == QueueKind::Sdma ? words * 4 : aql ? (words * 4 + 63) / 64 : words;
  world.put<u64>(kPointers + 56, end);
  if (end != 0) gpu.ring(queue, aql ? end - 1 : end);
  // Buffers may chain for ever.
  for (int turn = 0; turn < 300 && gpu.run_once(); ++turn) {
  }
  return 0;
}
