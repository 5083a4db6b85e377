// SDMA packets that move and make data. Counts are "less one" in all of them.
#pragma once

#include "base/bits/record.h"
#include "drivers/amd/hw/sdma/opcode.h"

namespace doorbell::amd::hw {

// COPY, linear: memcpy(dst, src, count + 1).
// [sdma_v6_0_0_pkt_open.h SDMA_PKT_COPY_LINEAR_*; vega10_sdma_pkt_open.h has 22 bits of count and
// neither cpv, backwards nor cache policies]
// A broadcast has a second target behind the record.
struct SdmaCopyLinear {
  static constexpr SdmaId kId{1, "COPY"};
  static constexpr u32 kWords = 7, kHeader = sdma_header(kId);
  static constexpr u32 words_of(std::span<const u32> head) {
    return kWords + (extract(head, word(0, 27, 27)) != 0 ? 2 : 0);
  }

  bool encrypt = false, tmz = false;
  bool cpv = false;  // 6.0+: the cache policies count
  bool backwards = false, broadcast = false;
  u32 count = 0;  // bytes less one
  u8 dst_sw = 0, dst_cache_policy = 0;
  u8 src_sw = 0, src_cache_policy = 0;
  u64 src = 0, dst = 0;

  static constexpr void fields(auto& p, auto f) {
    f("encrypt", word(0, 16, 16), p.encrypt);
    f("tmz", word(0, 18, 18), p.tmz);
    f("cpv", word(0, 19, 19), p.cpv);
    f("backwards", word(0, 25, 25), p.backwards);
    f("broadcast", word(0, 27, 27), p.broadcast);
    f("count", word(1, 29, 0), p.count);
    f("dst_sw", word(2, 17, 16), p.dst_sw);
    f("dst_cache_policy", word(2, 20, 18), p.dst_cache_policy);
    f("src_sw", word(2, 25, 24), p.src_sw);
    f("src_cache_policy", word(2, 28, 26), p.src_cache_policy);
    f("src", Bits{159, 96}, p.src);
    f("dst", Bits{223, 160}, p.dst);
  }
};
static_assert(sound<SdmaCopyLinear>());

// WRITE, linear ("untiled"): the count + 1 words that follow go to dst.
// [sdma_v6_0_0_pkt_open.h SDMA_PKT_WRITE_UNTILED_*]
struct SdmaWrite {
  static constexpr SdmaId kId{2, "WRITE"};
  static constexpr u32 kWords = 4, kHeader = sdma_header(kId);
  static constexpr bool kVariable = true;
  // At least, where the head is too short to have the count.
  static constexpr u32 words_of(std::span<const u32> head) {
    return head.size() < kWords ? kWords + 1
                                : kWords + 1 + static_cast<u32>(extract(head, word(3, 19, 0)));
  }

  bool encrypt = false, tmz = false, cpv = false;
  u64 dst = 0;
  u32 count = 0;  // words less one
  u8 sw = 0, cache_policy = 0;

  static constexpr void fields(auto& p, auto f) {
    f("encrypt", word(0, 16, 16), p.encrypt);
    f("tmz", word(0, 18, 18), p.tmz);
    f("cpv", word(0, 28, 28), p.cpv);
    f("dst", Bits{95, 34}, p.dst, Shift{2});
    f("count", word(3, 19, 0), p.count);
    f("sw", word(3, 25, 24), p.sw);
    f("cache_policy", word(3, 28, 26), p.cache_policy);
  }
};
static_assert(sound<SdmaWrite>());

// [SDMA_PKT_CONSTANT_FILL_HEADER_fillsize: log2 of bytes; torvalds/linux sdma_v4_0_emit_fill_buffer
// uses the default, Mesa ac_sdma.c 2 (words)]
enum class FillSize : u8 { Byte, Half, Word };
std::string_view name_of(FillSize size);

// CONST_FILL: count + 1 bytes from dst on are filled with data, in units of fill_size.
// [sdma_v6_0_0_pkt_open.h SDMA_PKT_CONSTANT_FILL_*; Mesa src/amd/common/ac_cmdbuf_sdma.c
// ac_emit_sdma_constant_fill: count is bytes less one from 4.0 on]
struct SdmaConstFill {
  static constexpr SdmaId kId{11, "CONST_FILL"};
  static constexpr u32 kWords = 5, kHeader = sdma_header(kId);

  u8 sw = 0, cache_policy = 0;
  bool cpv = false;
  FillSize fill_size = FillSize::Word;
  u64 dst = 0;
  u32 data = 0;
  u32 count = 0;  // bytes less one

  static constexpr void fields(auto& p, auto f) {
    f("sw", word(0, 17, 16), p.sw);
    f("cache_policy", word(0, 26, 24), p.cache_policy);
    f("cpv", word(0, 28, 28), p.cpv);
    f("fill_size", word(0, 31, 30), p.fill_size);
    f("dst", Bits{95, 32}, p.dst);
    f("data", word(3), p.data);
    f("count", word(4, 29, 0), p.count);
  }
};
static_assert(sound<SdmaConstFill>());

// NOP: skip the count words that follow.
// [sdma_v6_0_0_pkt_open.h SDMA_PKT_NOP_HEADER_count; sdma_v4_0.c sdma_v4_0_ring_insert_nop]
struct SdmaNop {
  static constexpr SdmaId kId{0, "NOP", std::nullopt};
  static constexpr u32 kWords = 1, kHeader = sdma_header(kId);
  static constexpr bool kVariable = true;
  static constexpr u32 words_of(std::span<const u32> head) {
    return kWords + static_cast<u32>(extract(head, word(0, 29, 16)));
  }

  u16 count = 0;

  static constexpr void fields(auto& p, auto f) { f("count", word(0, 29, 16), p.count); }
};
static_assert(sound<SdmaNop>());

// INDIRECT: execute `words` words at addr, then go on. This packet must end at a multiple of eight
// words of the ring, and an indirect buffer has a multiple of eight.
// [sdma_v6_0_0_pkt_open.h SDMA_PKT_INDIRECT_*; sdma_v4_0.c sdma_v4_0_ring_emit_ib]
struct SdmaIndirect {
  static constexpr SdmaId kId{4, "INDIRECT", std::nullopt};
  static constexpr u32 kWords = 6, kHeader = sdma_header(kId);

  u8 vmid = 0;
  bool priv = false;
  u64 addr = 0;  // of 32 bytes
  u32 words = 0;
  u64 csa_addr = 0;

  static constexpr void fields(auto& p, auto f) {
    f("vmid", word(0, 19, 16), p.vmid);
    f("priv", word(0, 31, 31), p.priv);
    f("addr", Bits{95, 37}, p.addr, Shift{5});
    f("words", word(3, 19, 0), p.words);
    f("csa_addr", Bits{191, 128}, p.csa_addr);
  }
};
static_assert(sound<SdmaIndirect>());

}  // namespace doorbell::amd::hw
