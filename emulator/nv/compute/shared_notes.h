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

  // Notes a read of whole words where nothing is wrong, as note() would. False: nothing is noted,
  // and note() has to.
  bool note_read(u64 address, u32 bytes, u16 warp) {
    if (address % 4 != 0 || bytes % 4 != 0) return false;
    Note* const words = words_.data() + address / 4;
    const u32 count = bytes / 4, now = state(true);
    const u16 self = static_cast<u16>(warp + 1);
    const Note mine(now, 0, self), many(now, 0, kMany);
    if (all_are(mine, words, count) || all_are(many, words, count)) [[likely]]
      return true;
    for (u32 i = 0; i < count; ++i) {
      const Note word = words[i];
      if (word.state() == kMixed || !word.is_written()) return false;
      if (word.state() == now && word.writer() != 0) return false;
    }
    for (u32 i = 0; i < count; ++i) {
      const Note word = words[i];
      const bool alone = word.state() != now || word.reader() == 0 || word.reader() == self;
      words[i] = alone ? mine : many;
    }
    return true;
  }

  // Calls `found` with what is wrong, a word or a byte at a time; what follows is not noted once it
  // returns false. Atomic operations do not race with each other, and are not noted.
  template <class Found>
  void note(const Access& access, Found&& found) {
    for (u64 at = access.address, end = at + access.bytes; at < end;) {
      Note& word = words_[at / 4];
      if (at % 4 == 0 && end - at >= 4 && word.state() != kMixed) {
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
    const Note copied(state(true), static_cast<u16>(warp + 1), 0);
    for (u64 at = address, end = at + bytes; at < end;) {
      if (at % 4 == 0 && end - at >= 4) {
        words_[at / 4] = copied;
        at += 4;
        continue;
      }
      split(at / 4);
      bytes_[at] = copied;
      join(at / 4);
      ++at;
    }
  }

 private:
  static constexpr u32 kMixed = ~u32{0};

  // Of a word, or of a byte where the word's are mixed.
  class Note {
   public:
    Note() = default;
    Note(u32 state, u16 writer, u16 reader)
        : bits_(state | u64{writer} << 32 | u64{reader} << 48) {}

    u32 state() const { return static_cast<u32>(bits_); }  // see SharedNotes::state()
    bool is_written() const { return bits_ & 1; }
    // Warps from 1; 0: none; kMany: several.
    u16 writer() const { return static_cast<u16>(bits_ >> 32); }
    u16 reader() const { return static_cast<u16>(bits_ >> 48); }
    // Bits of which it differs.
    u64 operator^(const Note& other) const { return bits_ ^ other.bits_; }
    bool operator==(const Note&) const = default;

   private:
    u64 bits_ = 0;  // one word, which is compared and stored at once
  };

  // This epoch's: bit 0 says whether it was ever written. Or kMixed: see bytes_.
  u32 state(bool written) const { return epoch_ << 1 | u32{written}; }

  static bool all_are(const Note& wanted, const Note* words, u32 count) {
    u64 differ = 0;
    for (u32 i = 0; i < count; ++i) differ |= words[i] ^ wanted;
    return differ == 0;
  }

  template <class Found>
  bool note(const Access& access, u64 at, Note& note, Found& found) {
    const u16 self = static_cast<u16>(access.warp + 1);
    const u32 now = state(note.is_written());
    u16 writer = note.writer(), reader = note.reader();
    if (note.state() != now) writer = reader = 0;
    note = {now, writer, reader};
    const bool by_other = writer != 0 && writer != self;
    const bool read_by_other = reader != 0 && reader != self;
    if (!access.atomic && (by_other || (access.write && read_by_other))) [[unlikely]] {
      const u16 other = by_other ? writer : reader;
      if (!found(Finding{Finding::Kind::Race, at, static_cast<u16>(other - 1)})) return false;
    }
    if (!access.write && !note.is_written()) [[unlikely]]
      if (!found(Finding{Finding::Kind::Undefined, at})) return false;
    if (access.atomic) return true;
    u16& who = access.write ? writer : reader;
    who = who == 0 || who == self ? self : kMany;
    note = {now | u32{access.write}, writer, reader};
    return true;
  }

  void split(usize word) {
    if (words_[word].state() == kMixed) return;
    for (usize i = 0; i < 4; ++i) bytes_[word * 4 + i] = words_[word];
    words_[word] = {kMixed, 0, 0};
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
