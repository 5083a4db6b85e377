// Who wrote and read which bytes of a block's shared memory since the last barrier, for NV-MEM-007
// (races) and NV-MEM-006 (reads of what was never written).
#pragma once

#include <vector>

#include "base/util/types.h"

namespace doorbell::emu::nvgpu {

class SharedNotes {
 public:
  static constexpr u16 kMany = 0xffff;

  struct Access {
    u64 address = 0;
    u32 bytes = 0;
    u16 warp = 0;
    bool write = false, atomic = false;
  };
  // What is wrong with the byte `at`: a race with `other`, a warp, or kMany of them; or a read of
  // what nobody wrote.
  struct Finding {
    enum class Kind : u8 { Race, Undefined } kind;
    u64 at;
    u16 other = 0;
  };

  void resize(usize bytes) {
    words_.assign((bytes + 3) / 4, {});
    bytes_.resize(words_.size() * 4);
  }
  // A barrier: what was accessed before is ordered with all that follows.
  void order() { ++epoch_; }

  // Calls `found` with what is wrong, a word or a byte at a time; what follows is not noted once it
  // returns false. Atomic operations do not race with each other, and are not noted.
  template <class Found>
  void note(const Access& access, Found&& found) {
    for (u64 at = access.address, end = at + access.bytes; at < end;) {
      Note& word = words_[at / 4];
      if (at % 4 == 0 && end - at >= 4 && word.epoch != kMixed) {
        if (!note(access, at, word, found)) return;
        at += 4;
        continue;
      }
      split(at / 4);
      if (!note(access, at, bytes_[at], found)) return;
      join(at / 4);
      ++at;
    }
  }
  // A copy that `warp` has waited for wrote these bytes.
  void note_copy(u64 address, u32 bytes, u16 warp) {
    for (u64 at = address; at < address + bytes; ++at) {
      split(at / 4);
      bytes_[at] = {epoch_, static_cast<u16>(warp + 1), 0, true};
      join(at / 4);
    }
  }

 private:
  static constexpr u32 kMixed = ~u32{0};

  // Of a word, or of a byte where the word's are mixed.
  struct Note {
    u32 epoch = 0;               // kMixed: see bytes_
    u16 writer = 0, reader = 0;  // warps from 1; 0: none; kMany: several
    bool written = false;        // ever

    bool operator==(const Note&) const = default;
  };

  template <class Found>
  bool note(const Access& access, u64 at, Note& note, Found& found) {
    const u16 self = static_cast<u16>(access.warp + 1);
    if (note.epoch != epoch_) {
      note.epoch = epoch_;
      note.writer = note.reader = 0;
    }
    const bool by_other = note.writer != 0 && note.writer != self;
    const bool read_by_other = note.reader != 0 && note.reader != self;
    if (!access.atomic && (by_other || (access.write && read_by_other))) [[unlikely]] {
      const u16 other = by_other ? note.writer : note.reader;
      if (!found(Finding{Finding::Kind::Race, at, static_cast<u16>(other - 1)})) return false;
    }
    if (!access.write && !note.written) [[unlikely]]
      if (!found(Finding{Finding::Kind::Undefined, at})) return false;
    if (access.atomic) return true;
    u16& who = access.write ? note.writer : note.reader;
    who = who == 0 || who == self ? self : kMany;
    note.written |= access.write;
    return true;
  }

  void split(usize word) {
    if (words_[word].epoch == kMixed) return;
    for (usize i = 0; i < 4; ++i) bytes_[word * 4 + i] = words_[word];
    words_[word].epoch = kMixed;
  }
  void join(usize word) {
    const Note& first = bytes_[word * 4];
    for (usize i = 1; i < 4; ++i)
      if (bytes_[word * 4 + i] != first) return;
    words_[word] = first;
  }

  std::vector<Note> words_, bytes_;
  u32 epoch_ = 1;
};

}  // namespace doorbell::emu::nvgpu
