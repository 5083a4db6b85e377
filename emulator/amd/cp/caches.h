// The caches of one emulated GPU as the weakest hardware that the documents allow: a line stays,
// stale, until the invalidate that covers it; what a kernel wrote stays in the L2 until a
// write-back does. Used in adversarial mode only; there is no capacity, so that chance never hides
// a missing bit. AdversarialMemory (adversarial_memory.h) is the waves' door to it, GuestMemory
// (guest_memory.h) that of the command processors.
//
//   vector V$            one per unit (a CU of gfx9, a WGP later); stores go through and update it
//   scalar K$, code I$   one per unit; read only
//   GL1                  gfx10 and gfx11, one per shader array; read only, V$ and K$ fill from it
//   L2                   one per XCC; written back. It serves waves; whether the command processor
//                        and SDMA too is the chip's
//
// Memory that is Coherent or Uncached passes the L2 by, never the caches above it: their
// invalidation at a kernel's start is what makes a ring of kernel arguments in uncached memory
// work. [LLVM AMDGPUUsage "Memory Model gfx942/gfx10-gfx11/gfx12"; Mesa radv_cmd_buffer.c and
// ac_cmdbuf, *_cs_emit_cache_flush: which bits go together]
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "drivers/amd/hw/generation.h"
#include "emulator/amd/cp/announcements.h"
#include "emulator/amd/cp/guest_memory.h"
#include "emulator/amd/cp/posted_writes.h"
#include "emulator/amd/isa/memory/reach.h"
#include "emulator/core/address_space.h"
#include "emulator/core/checks.h"

namespace doorbell::emu::amdgpu {

struct CacheShape {
  u32 xccs = 1;
  // Few, so that a kernel often meets the lines of the one before; two of each, so that it often
  // does not.
  u32 units = 4;            // of each XCC
  u32 units_per_array = 2;  // that share a GL1
  bool gl1 = true;
  // gfx9's SDMA is no client of the L2 (it sits on the other memory hub); that of gfx10 and gfx11
  // reads through it without filling it, and its writes go past and take the line along
  // [linux amdgpu_sdma.h CACHE_READ_POLICY_L2__NOA, CACHE_WRITE_POLICY_L2__BYPASS]; gfx12's neither
  // [Mesa ac_gpu_info.h cp_sdma_ge_use_system_memory_scope].
  bool l2_serves_sdma = true;
  // The command processor of gfx9 to gfx11 is a client of the L2; gfx12's is not [the same].
  bool l2_serves_cp = true;
};
CacheShape cache_shape(amd::hw::Generation generation, u32 xccs);

// What one packet or instruction asks of the caches.
struct CacheActions {
  bool vector = false, scalar = false, instructions = false, gl1 = false;
  bool l2_invalidate = false, l2_write_back = false;
  u64 start = 0, end = ~u64{0};  // of addresses

  bool any() const {
    return vector || scalar || instructions || gl1 || l2_invalidate || l2_write_back;
  }
};

// Which cache a wave's access enters.
enum class Door : u8 { Vector, Scalar, Instructions };

// Thread safety: none; the GPU's thread.
class Caches {
 public:
  static constexpr u32 kLine = 64;

  Caches(const CacheShape& shape, Checks& checks)
      : shape_(shape), checks_(checks), posted_(checks), xccs_(shape.xccs) {
    for (Xcc& xcc : xccs_) {
      xcc.units.resize(shape.units);
      xcc.gl1.resize((shape.units + shape.units_per_array - 1) / shape.units_per_array);
    }
  }

  // A launch: the driver must invalidate lines that were filled before it and no longer match.
  u64 begin_dispatch() { return ++now_; }
  u64 last_dispatch() const { return now_; }

  struct Reader {
    u32 xcc = 0, unit = 0;
    Door door = Door::Vector;
    Reach reach = Reach::Unit;
    u64 dispatch = 0;                     // of begin_dispatch()
    const std::string* kernel = nullptr;  // of remember()
  };
  // [va, va + size) lies in the range.
  void load(const Reader& reader, const Range& range, u64 va, std::span<u8> to);
  void store(const Reader& reader, const Range& range, u64 va, std::span<const u8> from);
  // An atomic acts in the L2, or in memory where the L2 is passed by: `update` gets the host's
  // bytes with the newest value in them.
  void atomic(const Reader& reader, const Range& range, u64 va, u32 bytes,
              const std::function<void(u8* host)>& update);

  void act(u32 xcc, const CacheActions& actions);
  // An instruction of a wave: its own unit's caches, and the L2 of its XCC.
  void act_unit(u32 xcc, u32 unit, const CacheActions& actions);

  // What other clients see and leave behind; client_write() is called before the bytes change.
  void client_read(Client client, const Range& range, u64 va, std::span<u8> to);
  void client_write(Client client, const Range& range, u64 va, std::span<const u8> from);
  // The L2's newer bytes go to memory, and its lines are gone.
  void evict(const Range& range, u64 va, u64 bytes);
  // Memory is being unmapped: what is dirty goes there now, as the kernel's flush has it, and no
  // line of it is left.
  void forget(u64 start, u64 end);

  // A kernel's name for as long as the caches live.
  const std::string* remember(std::string kernel) {
    return &*kernels_.insert(std::move(kernel)).first;
  }
  // Bytes whose newest values are in an L2 still, and who stored the last of them.
  struct Unwritten {
    u64 va = 0;
    const std::string* kernel = nullptr;
  };
  // Of the host's memory, the lowest; or of these bytes.
  std::optional<Unwritten> dirty_host_memory() const;
  std::optional<Unwritten> find_unwritten(const u8* host, u64 bytes) const;
  // "kernel k's bytes of 0x... are still in the L2: GL2_WB ... is missing".
  std::string describe(const Unwritten& left) const;
  // The host is told that work is done: what it then reads should be in memory.
  void judge_host(const std::string& who);
  usize dirty_lines() const;
  const CacheShape& shape() const { return shape_; }

  // What has not come as far as any cache.
  PostedWrites& posted() { return posted_; }
  // What the GPU's clients have promised not to change; told of all that the GPU itself changes.
  Announcements& announcements() { return announcements_; }

 private:
  struct Line {
    std::array<u8, kLine> bytes;
    u64 valid = 0;                        // a bit a byte
    u64 dirty = 0;                        // L2 only
    u64 filled = 0;                       // begin_dispatch() at the time
    bool of_host = false;                 // Place::Host
    u8* host = nullptr;                   // of the line's first byte; dirty bytes go there
    const std::string* writer = nullptr;  // the kernel that stored there last
  };
  using Lines =
      std::unordered_map<u64, Line>;  // by address / kLine; iterated in no order that shows
  struct Unit {
    Lines vector, scalar, instructions;
  };
  struct Xcc {
    std::vector<Unit> units;
    std::vector<Lines> gl1;
    Lines l2;
  };

  static u64 mask(u32 first, u32 count) {
    return (count == 64 ? ~u64{0} : (u64{1} << count) - 1) << first;
  }
  bool uses_l2(const Range& range) const { return range.type.caching == Caching::Cached; }
  // The device's scope is past the L2 where there are several.
  bool past_l2(const Reader& reader, const Range& range) const {
    return !uses_l2(range) || reader.reach == Reach::System ||
           (reader.reach == Reach::Device && shape_.xccs > 1);
  }
  bool serves(Client client) const {
    return client == Client::Sdma ? shape_.l2_serves_sdma : shape_.l2_serves_cp;
  }
  template <class Each>
  static void for_lines(u64 va, u64 bytes, Each&& each);

  void read_l2(const Reader& reader, const Range& range, u64 line, u32 first, std::span<u8> to);
  void read_gl1(const Reader& reader, const Range& range, u64 line, u32 first, std::span<u8> to);
  void read_top(const Reader& reader, const Range& range, u64 line, u32 first, std::span<u8> to);
  // What the bytes are beyond the GL1: of the L2 if it has them, else of memory.
  void truth(u32 xcc, const Range& range, u64 line, u32 first, std::span<u8> to) const;
  template <class Which>
  std::optional<Unwritten> lowest_dirty(Which&& which) const;
  void judge(const Check& check, const Reader& reader, const Line& cached, u64 va, u32 first,
             std::span<const u8> is, std::span<const u8> should, const char* bit);
  void write_back(Line& line);
  void act_l2(Lines& l2, const CacheActions& actions);
  void act_above(Xcc& xcc, u32 unit, const CacheActions& actions);
  static void drop(Lines& lines, u64 start, u64 end);
  Lines& top(const Reader& reader);

  // A wave's access.
  void judge_posted(const Reader& reader, u64 va, u64 bytes) {
    if (!posted_.empty() && reader.kernel)
      posted_.judge_wave(reader.dispatch, *reader.kernel, va, bytes);
  }

  CacheShape shape_;
  Checks& checks_;
  PostedWrites posted_;
  Announcements announcements_;
  std::set<std::string> kernels_;
  std::vector<Xcc> xccs_;
  u64 now_ = 0;
};

}  // namespace doorbell::emu::amdgpu
