// The buffer resource descriptor: four words in scalar registers, through which buffer instructions
// access memory. Code generators and drivers write word 3, which says how.
#pragma once

#include "base/bits/record.h"
#include "base/util/types.h"

namespace doorbell::amd::hw {

// Word 3 on gfx9. An instruction without a format of its own needs a valid one here: it accesses
// nothing where DATA_FORMAT is 0 (invalid).
// [AMD CDNA3 ISA, table 45 "Buffer resource descriptor"; ROCR-Runtime
// runtime/hsa-runtime/core/inc/registers.h SQ_BUF_RSRC_WORD3; Mesa
// src/amd/common/ac_descriptors.c ac_set_buf_desc_word3()]
struct BufferWord3Gfx9 {
  static constexpr u32 kWords = 1;
  static constexpr u8 kData32 = 4;  // BUF_DATA_FORMAT_32

  u8 num_format = 0;  // 0: BUF_NUM_FORMAT_UNORM
  u8 data_format = kData32;

  static constexpr void fields(auto& p, auto f) {
    f("num_format", word(0, 14, 12), p.num_format);
    f("data_format", word(0, 18, 15), p.data_format);
  }
};
static_assert(sound<BufferWord3Gfx9>());
// As written in ROCm/composable_kernel include/ck/ck.hpp: CK_BUFFER_RESOURCE_3RD_DWORD of gfx9.
static_assert(encode(BufferWord3Gfx9{}) == std::array<u32, 1>{0x00020000});

// Word 3 from gfx10 on. FORMAT has one bit less from gfx11 on; RESOURCE_LEVEL is gfx10's alone, and
// is 1 there. An access is outside where OOB_SELECT says so:
//   0  index >= NUM_RECORDS, or the offset is outside the stride
//   1  index >= NUM_RECORDS
//   2  NUM_RECORDS = 0
//   3  offset >= NUM_RECORDS, "raw"
// [AMD RDNA2 ISA, 8.1.5; RDNA3 ISA, table 46; RDNA4 ISA, table 56: "Buffer resource descriptor";
// ROCR-Runtime runtime/hsa-runtime/image/resource_gfx11.h sq_buf_rsrc_word3_t; Mesa
// src/amd/common/ac_descriptors.c ac_set_buf_desc_word3()]
struct BufferWord3Gfx10 {
  static constexpr u32 kWords = 1;
  static constexpr u8 kUint32 = 20;  // BUF_FORMAT_32_UINT

  u8 format = kUint32;
  bool add_tid_enable = false;
  bool resource_level = false;
  u8 oob_select = 0;

  static constexpr void fields(auto& p, auto f) {
    f("format", word(0, 18, 12), p.format);
    f("add_tid_enable", word(0, 23, 23), p.add_tid_enable);
    f("resource_level", word(0, 24, 24), p.resource_level);
    f("oob_select", word(0, 29, 28), p.oob_select);
  }
};
static_assert(sound<BufferWord3Gfx10>());
// As written in ROCm/composable_kernel include/ck/ck.hpp: CK_BUFFER_RESOURCE_3RD_DWORD of gfx103.
static_assert(encode(BufferWord3Gfx10{.resource_level = true, .oob_select = 3}) ==
              std::array<u32, 1>{0x31014000});
// The descriptor of scratch on gfx11 in tinygrad runtime/ops_amd.py, 0x20814fac, but for its
// DST_SELs, 0xfac, which instructions without a format do not read.
static_assert(encode(BufferWord3Gfx10{.add_tid_enable = true, .oob_select = 2}) ==
              std::array<u32, 1>{0x20814000});

}  // namespace doorbell::amd::hw
