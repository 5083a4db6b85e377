// Notes by word against notes by byte.
#include "emulator/nv/compute/shared_notes.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>
#include <tuple>

namespace doorbell::emu::nvgpu {
namespace {

using Kind = SharedNotes::Finding::Kind;
// Kind and byte.
using Findings = std::set<std::tuple<Kind, u64>>;

Findings findings(SharedNotes& notes, const SharedNotes::Access& access) {
  Findings found;
  notes.note(access, [&](const SharedNotes::Finding& finding) {
    found.insert({finding.kind, finding.at});
    return true;
  });
  return found;
}

TEST(SharedNotes, FindsRacesBetweenBarriers) {
  SharedNotes notes;
  notes.resize(64);
  EXPECT_EQ(findings(notes, {.address = 0, .bytes = 4, .warp = 0, .write = true}), Findings());
  EXPECT_EQ(findings(notes, {.address = 0, .bytes = 4, .warp = 0}), Findings());
  EXPECT_EQ(findings(notes, {.address = 2, .bytes = 1, .warp = 1}), (Findings{{Kind::Race, 2}}));
  EXPECT_EQ(findings(notes, {.address = 0, .bytes = 4, .warp = 1, .atomic = true}), Findings());
  notes.order();
  EXPECT_EQ(findings(notes, {.address = 2, .bytes = 2, .warp = 1}), Findings());
  EXPECT_EQ(findings(notes, {.address = 0, .bytes = 4, .warp = 2, .write = true}),
            (Findings{{Kind::Race, 2}, {Kind::Race, 3}}));
}

TEST(SharedNotes, FindsReadsOfWhatNobodyWrote) {
  SharedNotes notes;
  notes.resize(64);
  EXPECT_EQ(findings(notes, {.address = 8, .bytes = 2, .write = true}), Findings());
  EXPECT_EQ(findings(notes, {.address = 8, .bytes = 4}),
            (Findings{{Kind::Undefined, 10}, {Kind::Undefined, 11}}));
  notes.note_copy(12, 4, 3);
  EXPECT_EQ(findings(notes, {.address = 12, .bytes = 4, .warp = 3}), Findings());
  EXPECT_EQ(findings(notes, {.address = 12, .bytes = 4, .warp = 0}), (Findings{{Kind::Race, 12}}));
}

TEST(SharedNotes, EndsWhereItIsToldTo) {
  SharedNotes notes;
  notes.resize(16);
  usize calls = 0;
  notes.note({.address = 0, .bytes = 16}, [&](const SharedNotes::Finding&) {
    ++calls;
    return false;
  });
  EXPECT_EQ(calls, 1u);
}

// What is known of a byte, the plain way.
struct Byte {
  std::set<u16> writers, readers;
  bool written = false;

  static bool has_other(const std::set<u16>& warps, u16 warp) {
    return warps.size() > warps.count(warp);
  }
  bool races(const SharedNotes::Access& access) const {
    return !access.atomic &&
           (has_other(writers, access.warp) || (access.write && has_other(readers, access.warp)));
  }
};

TEST(SharedNotes, AgreeWithNotesOfEachByte) {
  constexpr u64 kBytes = 32;
  std::mt19937 random(20261124);
  SharedNotes notes;
  notes.resize(kBytes);
  std::array<Byte, kBytes> bytes;
  int noted_at_once = 0;
  for (int i = 0; i < 20'000; ++i) {
    if (random() % 16 == 0) {
      notes.order();
      for (Byte& byte : bytes) byte.writers.clear(), byte.readers.clear();
    }
    const u32 size = 1u << random() % 5;
    const SharedNotes::Access access{.address = random() % (kBytes / size) * size,
                                     .bytes = size,
                                     .warp = static_cast<u16>(random() % 3),
                                     .write = random() % 3 == 0,
                                     .atomic = random() % 8 == 0};
    Findings wanted, found;  // by word, which may be told once
    for (u64 at = access.address; at < access.address + size; ++at) {
      Byte& byte = bytes[at];
      if (byte.races(access)) wanted.insert({Kind::Race, at / 4});
      if (!access.write && !byte.written) wanted.insert({Kind::Undefined, at / 4});
      if (access.atomic) continue;
      (access.write ? byte.writers : byte.readers).insert(access.warp);
      byte.written |= access.write;
    }
    const bool reads = !access.write && !access.atomic;
    if (reads && random() % 2 == 0 && notes.note_read(access.address, size, access.warp))
      ++noted_at_once;
    else
      for (const auto& [kind, at] : findings(notes, access)) found.insert({kind, at / 4});
    ASSERT_EQ(found, wanted) << "access " << i;
  }
  EXPECT_GT(noted_at_once, 500);
}

}  // namespace
}  // namespace doorbell::emu::nvgpu
