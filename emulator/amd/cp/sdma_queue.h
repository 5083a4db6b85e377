// A queue of a copy engine: SDMA 4.4 (gfx9), 5.2 (gfx10), 6.0 (gfx11) or 7.0 (gfx12). Doorbell,
// read and write pointer count bytes and never wrap. The engine works in order; only a fence, a
// trap or a poll orders it with anybody else. In adversarial mode a copy is done piece by piece, so
// that whoever does not wait sees half of it. [linux vega10_sdma_pkt_open.h,
// navi10_sdma_pkt_open.h, sdma_v6_0_0_pkt_open.h and the emitters of sdma_v*.c; ROCr
// sdma_registers.h; kfdtest SDMAPacket.cpp, SDMAQueue.cpp]
#pragma once

#include <optional>
#include <vector>

#include "drivers/amd/hw/sdma/packets.h"
#include "emulator/amd/cp/queue.h"

namespace doorbell::emu::amdgpu {

class SdmaQueue final : public Queue {
 public:
  using Queue::Queue;

 protected:
  Step advance() override;
  // All but one byte, in whole words. [ROCr amd_blit_sdma.cpp AcquireWriteAddress]
  u64 capacity() const override { return description_.ring_bytes - 4; }
  const char* wrong_unit(u64 doorbell) const override {
    return doorbell % 4 != 0 ? "is no multiple of 4 bytes" : nullptr;
  }

 private:
  Step advance_ring();
  Step advance_buffer();
  Step run_packet();
  void packet_done();
  // The test's hook sees words_, and may change them.
  HookVerdict show_hook();
  // As many words as the hook's header says of a packet that had `size`. May stop the queue.
  void follow_header(u32 size);
  Outcome execute();
  bool is_copy() const;  // the packet at hand
  std::optional<MemoryFault> fetch(u64 at, std::span<u32> words) const;
  // Words of the packet that begins so; `known(i)` is its i-th word, or nothing when it is cut. 0:
  // no packet of this engine.
  u32 words_of(const std::vector<u32>& head) const;
  std::string describe() const;

  // The record of words_; nothing when the queue has stopped over it.
  template <class Packet>
  std::optional<Packet> decode_packet();
  // A handler for each record of packets.def.
#define DOORBELL_SDMA(Record) Outcome execute(const amd::hw::Record& packet);
#include "drivers/amd/hw/sdma/packets.def"

  // A piece of a copy that is under way: Done, or Stop.
  Outcome advance_copies();
  bool check_count(u64 bytes);
  bool check_unusual(const char* field, bool is_set);
  Outcome stopped(MemoryFault fault) {
    stop(std::move(fault));
    return Outcome::Stop;
  }
  Outcome stopped(std::string why) {
    stop(std::move(why));
    return Outcome::Stop;
  }
  u64 max_bytes() const;

  std::vector<u32> words_;  // the packet at hand
  u64 packet_end_ = 0;      // in the ring
  bool pending_ = false;    // words_ waits to be executed again
  bool repeats_ = false;    // the ring's packet at hand is read again, as the hook wants
  std::optional<std::vector<u32>> late_;  // comes behind the packet at hand, as the hook wants
  u64 cut_ = 0;

  // Copies under way, in any order: what follows them waits for them, but for other copies. In
  // adversarial mode only; else a copy is done at once. [Mesa radv_sdma.c radv_sdma_emit_nop: a NOP
  // waits for pending copies; radv_cmd_buffer.c: on the engine's own tracking nobody may rely]
  struct Copy {
    u64 src = 0, dst = 0, bytes = 0, done = 0;
    Place place;
  };
  std::vector<Copy> copies_;

  struct Buffer {
    u64 base = 0;
    std::vector<u32> words;
    u32 next = 0;
  };
  std::optional<Buffer> buffer_;  // the indirect buffer at hand; they do not nest
};

}  // namespace doorbell::emu::amdgpu
