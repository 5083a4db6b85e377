// Any words as instructions of an emulated GPU's wave, with registers of all kinds: a wave ends,
// goes on or stops with a reason, and writes to nothing that it was not given. What instructions
// compute is for the tests of emulator/amd/isa.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "base/util/check.h"
#include "emulator/amd/isa/decode/code_cache.h"
#include "emulator/amd/isa/handlers.h"
#include "emulator/amd/isa/memory/passing_memory.h"
#include "emulator/amd/isa/run.h"
#include "emulator/amd/isa/shadow/twin.h"
#include "emulator/core/address_space.h"
#include "emulator/core/undefined_memory.h"

using namespace doorbell;
using namespace doorbell::emu;
using namespace doorbell::emu::amdgpu;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, std::size_t size);

namespace {

constexpr const char* kChips[] = {"gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1201"};
constexpr usize kHead = 3;  // bytes before the words

constexpr u64 kCode = 0x10000, kData = 0x4'0000'0000, kScratch = 0x5'0000'0000;
constexpr u32 kPage = AddressSpace::kPage, kDataBytes = 4 * kPage;
constexpr u32 kLdsBytes = 1024, kLdsSlack = 64;  // as much as a work group has behind its LDS
constexpr u32 kScratchLaneBytes = 64;
constexpr u32 kPattern = 0xa5a5a5a5;  // of memory and registers beyond the wave's
constexpr u64 kInstructions = 500;
constexpr u32 kStops = 300;  // after which a wave continues

// Pages of their own, so that the sanitizer sees what goes beyond them.
struct Pages {
  explicit Pages(u32 bytes) : bytes(bytes), host(new(std::align_val_t{kPage}) u8[bytes]()) {}
  ~Pages() { operator delete[](host, std::align_val_t{kPage}); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  u32 bytes;
  u8* host;
};

CodeCache& code_cache(const Chip& chip, usize index) {
  static std::array<std::unique_ptr<CodeCache>, std::size(kChips)> caches;
  if (!caches[index]) caches[index] = std::move(CodeCache::create(chip, handler_set()).value());
  caches[index]->begin_dispatch();
  return *caches[index];
}

u32 mixed(u32 seed, u32 i) {
  u32 value = seed * 0x9e3779b9 + i * 0x85ebca6b;
  value = (value ^ value >> 15) * 0x2c1b3c6d;
  return value ^ value >> 13;
}

// Scalar registers are pairs of addresses, buffer descriptors, small numbers, or anything; so are
// vector registers, but for the descriptors.
void fill(Wave& wave, u32 seed) {
  constexpr u32 kHigh = kData >> 32;
  const u32 kind = seed % 4;
  for (u32 i = 0; i < kVccLo; ++i) {
    const u32 descriptor[] = {0x100, kHigh, kDataBytes / 2, mixed(seed, i)};
    const u32 kinds[] = {i % 2 ? kHigh : i * 8, descriptor[i % 4], i % 5, mixed(seed, i)};
    wave.s[i] = kinds[kind];
  }
  wave.set_pair(kVccLo, u64{mixed(seed, 1)} << 32 | mixed(seed, 2));
  wave.s[kM0] = kind == 3 ? mixed(seed, 3) : seed / 4 % 16;
  for (u32 row = 0; row < wave.chip->vgprs; ++row) {
    const bool given = row < 256 ? row < wave.vgpr_count : row - 256 < wave.accumulator_count;
    for (u32 lane = 0; lane < wave.lanes; ++lane) {
      const u32 random = mixed(seed, row * 64 + lane);
      const u32 kinds[] = {row % 2 ? kHigh : lane * 8, lane * 4, (lane + row) % 7, random};
      wave.row(row)[lane] = given ? kinds[kind] : kPattern;
    }
  }
}

// The twin has the complement of a fourth of the registers: they are undefined.
void copy_in_part(const Wave& wave, Wave& twin) {
  for (u32 i = 0; i < kScalarRegisters; ++i)
    twin.s[i] = i < kVccLo && i % 4 == 3 ? ~wave.s[i] : wave.s[i];
  for (u32 row = 0; row < wave.chip->vgprs; ++row) {
    const u32 flip = row % 4 == 3 && row < wave.vgpr_count ? ~0u : 0;
    const u32* from = wave.v + usize{row} * wave.lanes;
    for (u32 lane = 0; lane < wave.lanes; ++lane) twin.row(row)[lane] = from[lane] ^ flip;
  }
}

struct World {
  Pages code{kPage}, data{kDataBytes}, scratch{kPage};
  std::vector<u8> lds = std::vector<u8>(kLdsBytes + kLdsSlack, u8{0xa5}), twin_lds = lds;
  AddressSpace space;
  UndefinedMemory undefined;

  World() {
    map(kCode, code, false, true);
    map(kData, data, true, false);
    map(kScratch, scratch, true, false);
    undefined.allocate(data.host, kPage);
    // Addresses, for what loads its own.
    for (u64 at = 0; at < kDataBytes; at += 8) {
      const u64 address = kData + at * 3 % kDataBytes;
      std::memcpy(data.host + at, &address, 8);
    }
  }
  void map(u64 va, Pages& pages, bool writable, bool executable) {
    space.map(va, pages.bytes, pages.host, writable, executable, {}, 0).value();
  }
  void set_up(Wave& wave, std::vector<u8>& its_lds, bool few) {
    wave.vgpr_count = few ? 24 : 256;
    wave.accumulator_count = std::min(wave.accumulator_count, few ? 8u : 256u);
    wave.lds = its_lds.data();
    wave.lds_bytes = kLdsBytes;
    wave.scratch_base = wave.flat_scratch = kScratch;
    wave.scratch_bytes_per_lane = kScratchLaneBytes;
    wave.shared_aperture = u64{1} << 48;
    wave.private_aperture = u64{2} << 48;
    wave.pc = kCode;
  }
};

void judge(const Wave& wave, const std::vector<u8>& lds) {
  for (u32 row = 0; row < wave.chip->vgprs; ++row) {
    if (row < 256 ? row < wave.vgpr_count : row - 256 < wave.accumulator_count) continue;
    const u32* lanes = wave.v + usize{row} * wave.lanes;
    const bool kept = std::all_of(lanes, lanes + wave.lanes, [](u32 v) { return v == kPattern; });
    CHECK(kept, "register {} was written, which the wave was not given", row);
  }
  const bool kept = std::all_of(lds.begin() + kLdsBytes, lds.end(), [](u8 b) { return b == 0xa5; });
  CHECK(kept, "LDS was written behind its end");
}

// Until it ends. What stops it is skipped, as a debugger can, and all registers are others then.
template <class Run, class Refill>
void run_on(Wave& wave, Run run, Refill refill) {
  for (u32 stops = 0; stops < kStops && wave.clock < kInstructions; ++stops) {
    const Exit exit = run(kInstructions - wave.clock);
    const bool refused = exit.kind == Exit::Kind::Fault || exit.kind == Exit::Kind::Bounds ||
                         exit.kind == Exit::Kind::Illegal;
    CHECK(!refused || !exit.name.empty(), "a wave stops at {:#x} without a word", exit.pc);
    if (exit.kind == Exit::Kind::EndProgram || exit.name == "instruction fetch") return;
    if (!refused) continue;
    refill(stops + 1);
    wave.pc = exit.pc + 4;
  }
}

}  // namespace

// Input: the chip; bits: waves of 64, memory lane by lane, a twin, few registers, EXEC (two bits);
// the registers' seed; the words, behind which the program ends.
int LLVMFuzzerTestOneInput(const u8* data, std::size_t size) {
  if (size < kHead) return 0;
  const usize index = data[0] % std::size(kChips);
  const Chip& chip = *find_chip(kChips[index]);
  const u32 lanes = chip.wave32 && !(data[1] & 1) ? 32 : 64;
  const bool few = (data[1] & 8) != 0;
  CodeCache& cache = code_cache(chip, index);

  World world;
  const u32 end = chip.generation >= Generation::Gfx11 ? 0xbfb00000 : 0xbf810000;  // s_endpgm
  for (u32 at = 0; at < kPage; at += 4) std::memcpy(world.code.host + at, &end, 4);
  std::memcpy(world.code.host, data + kHead, std::min<usize>(size - kHead, kPage - 4) & ~usize{3});

  Wave wave(chip, lanes);
  world.set_up(wave, world.lds, few);
  const auto refill = [&](u32 more) {
    const u32 seed = data[2] + more;
    fill(wave, seed);
    const u64 exec[] = {~u64{0}, mixed(seed, 4) * u64{0x100000001}, 0, u64{1} << (lanes - 1)};
    wave.set_mask(kExecLo, exec[data[1] >> 4 & 3]);
  };
  refill(0);

  DirectMemory direct(world.space);
  // Not direct: each lane asks by itself, as behind caches.
  PassingMemory lane_by_lane(direct);
  Memory& memory = data[1] & 2 ? static_cast<Memory&>(lane_by_lane) : direct;
  if (!(data[1] & 4)) {
    run_on(wave, [&](u64 budget) { return run(wave, memory, cache, budget); }, refill);
    judge(wave, world.lds);
    return 0;
  }
  Twin twin(chip, lanes);
  world.set_up(twin.wave, world.twin_lds, few);
  const auto refill_both = [&](u32 more) {
    refill(more);
    copy_in_part(wave, twin.wave);
    twin.begin(wave);
  };
  refill_both(0);
  TwinMemories memories(memory, world.space, world.undefined);
  std::optional<UndefinedUse> use;
  PendingLoads loads(chip, lanes);
  const Judges judges{.loads = &loads};
  run_on(
      wave,
      [&](u64 budget) { return run_with_twin(wave, twin, memories, cache, budget, judges, use); },
      refill_both);
  judge(wave, world.lds);
  judge(twin.wave, world.twin_lds);
  return 0;
}
