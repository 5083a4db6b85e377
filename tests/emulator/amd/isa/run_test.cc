// The interpreter's loop on short programs, whose words are llvm-mc's.
#include "emulator/amd/isa/run.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "base/util/check.h"
#include "emulator/amd/isa/handlers.h"

namespace doorbell::emu::amdgpu {
namespace {

constexpr u64 kCode = 0x10000, kData = 0x20000;

// One page of code and one of data for a wave of gfx1100.
struct Machine {
  explicit Machine(std::vector<u32> words)
      : code(4096), data(4096), wave(*find_chip("gfx1100"), 32) {
    std::memcpy(code.data(), words.data(), words.size() * 4);
    map(kCode, code, false, true);
    map(kData, data, true, false);
    auto made = CodeCache::create(*wave.chip, handler_set());
    CHECK(made, "{}", made.error().message);
    cache = std::move(*made);
    wave.pc = kCode;
    wave.set_mask(kExecLo, wave.all_lanes());
  }
  void map(u64 va, std::vector<u8>& bytes, bool writable, bool executable) {
    auto mapped = space.map(va, bytes.size(), bytes.data(), writable, executable, {}, 0);
    CHECK(mapped, "{}", mapped.error().message);
  }
  Exit run(u64 budget = 1'000'000) {
    DirectMemory memory(space);
    return amdgpu::run(wave, memory, *cache, budget);
  }
  std::vector<u8> code, data;
  AddressSpace space;
  Wave wave;
  std::unique_ptr<CodeCache> cache;
};

// s_load_b64 s[2:3], s[0:1], 0x8; s_waitcnt lgkmcnt(0); s_mov_b32 s4, 0; s_movk_i32 s5, 0xa
// loop: s_add_u32 s4, s4, s2; s_sub_i32 s5, s5, 1; s_cmp_lg_u32 s5, 0; s_cbranch_scc1 loop
// s_and_saveexec_b32 s6, s3; s_endpgm
const std::vector<u32> kLoop = {0xF4040080, 0xF8000008, 0xBF89FC07, 0xBE840080,
                                0xB005000A, 0x80040204, 0x81858105, 0xBF078005,
                                0xBFA2FFFC, 0xBE862003, 0xBFB00000};

TEST(Run, LoopsToTheEnd) {
  Machine machine(kLoop);
  const u32 values[] = {0, 0, 7, 0xff};
  std::memcpy(machine.data.data(), values, sizeof values);
  machine.wave.set_pair(0, kData);
  const Exit exit = machine.run();
  EXPECT_EQ(exit.kind, Exit::Kind::EndProgram) << exit.name;
  EXPECT_EQ(exit.pc, kCode + 0x28);
  EXPECT_EQ(machine.wave.s[4], 70u);
  EXPECT_EQ(machine.wave.s[6], 0xffffffffu);
  EXPECT_EQ(machine.wave.exec(), 0xffu);
}

TEST(Run, StopsForItsBudgetAndGoesOn) {
  Machine machine(kLoop);
  machine.wave.set_pair(0, kData);
  u32 stops = 0;
  Exit exit = machine.run(1);
  for (; exit.kind == Exit::Kind::Budget; exit = machine.run(1)) ++stops;
  EXPECT_EQ(exit.kind, Exit::Kind::EndProgram);
  EXPECT_EQ(stops, 10u);  // one per block: the first with a turn of the loop, and nine more
}

TEST(Run, NamesWhatItCannotExecute) {
  Machine machine({0xBF800000, 0x00000000 | 0xC0000000});  // s_nop 0, and no instruction
  const Exit exit = machine.run();
  EXPECT_EQ(exit.kind, Exit::Kind::Illegal);
  EXPECT_EQ(exit.pc, kCode + 4);
  EXPECT_EQ(machine.wave.pc, kCode + 4);
  EXPECT_EQ(exit.name, "words 0xc0000000 0x00000000");
}

TEST(Run, FaultsWhereNothingIsMapped) {
  Machine machine({0xF4040080, 0xF8000008});  // s_load_b64 s[2:3], s[0:1], 0x8
  machine.wave.set_pair(0, 0x999000);
  const Exit exit = machine.run();
  EXPECT_EQ(exit.kind, Exit::Kind::Fault);
  EXPECT_EQ(exit.address, 0x999008u);
  EXPECT_EQ(exit.pc, kCode);
}

TEST(Run, FaultsOnFetchingWhatIsNoCode) {
  Machine machine({0xBF800000});  // s_nop 0
  machine.wave.pc = kData;
  const Exit exit = machine.run();
  EXPECT_EQ(exit.kind, Exit::Kind::Fault);
  EXPECT_EQ(exit.address, kData);
}

TEST(Run, SeesCodeThatChangedBeforeADispatch) {
  Machine machine({0xBE840081, 0xBFB00000});  // s_mov_b32 s4, 1; s_endpgm
  machine.run();
  EXPECT_EQ(machine.wave.s[4], 1u);
  const u32 other = 0xBE840082;  // s_mov_b32 s4, 2
  std::memcpy(machine.code.data(), &other, 4);
  machine.wave.pc = kCode;
  machine.cache->begin_dispatch();
  machine.run();
  EXPECT_EQ(machine.wave.s[4], 2u);
}

}  // namespace
}  // namespace doorbell::emu::amdgpu
