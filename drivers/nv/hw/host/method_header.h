// The words of a pushbuffer: a header, then the data of methods. A method is a word written to a
// register of a class, at a byte offset; the header says where the run of methods begins and how
// the offset goes on.
// [NVIDIA/open-gpu-doc classes/host/clc56f.h NVC56F_DMA_*; manuals/ampere/ga100/dev_pbdma.ref.txt]
#pragma once

#include <string_view>

#include "base/bits/record.h"

namespace doorbell::nv::hw {

// DMA_SEC_OP. Of 0 and 2 a tertiary operation in 17:16 tells the meaning; nobody writes them today,
// but a word of zeroes, which is a NOP.
enum class MethodOp : u8 {
  Grp0UseTert = 0,
  Inc = 1,  // each word of data goes to the method after the one before it
  Grp2UseTert = 2,
  NonInc = 3,     // all words go to the same method
  Immediate = 4,  // the count is the data
  OneInc = 5,     // the first word goes to the method, all others to the one after it
  Reserved6 = 6,
  EndPbSegment = 7,  // the rest of the segment is not read
};
constexpr std::string_view name_of(MethodOp op) {
  switch (op) {
    case MethodOp::Grp0UseTert: return "GRP0_USE_TERT";
    case MethodOp::Inc: return "INC_METHOD";
    case MethodOp::Grp2UseTert: return "GRP2_USE_TERT";
    case MethodOp::NonInc: return "NON_INC_METHOD";
    case MethodOp::Immediate: return "IMMD_DATA_METHOD";
    case MethodOp::OneInc: return "ONE_INC";
    case MethodOp::Reserved6: return "RESERVED6";
    case MethodOp::EndPbSegment: return "END_PB_SEGMENT";
  }
  return {};
}

inline constexpr u32 kSubchannels = 8;
// Methods below this offset are the host engine's own, on every subchannel; SET_OBJECT at 0 names
// the class that the other methods of a subchannel are for. [dev_pbdma.ref.txt, NV_UDMA]
inline constexpr u32 kEngineMethods = 0x100;

// [clc56f.h NVC56F_DMA_INCR_*, NVC56F_DMA_IMMD_*]
struct MethodHeader {
  static constexpr u32 kWords = 1;

  u32 method = 0;  // byte offset, a multiple of 4
  u8 subchannel = 0;
  u16 count = 0;  // words of data behind the header; of Immediate the data itself
  MethodOp op = MethodOp::Inc;

  static constexpr void fields(auto& p, auto f) {
    f("method", word(0, 11, 0), p.method, Shift{2});
    f("subchannel", word(0, 15, 13), p.subchannel);
    f("count", word(0, 28, 16), p.count);
    f("op", word(0, 31, 29), p.op);
  }
};
static_assert(sound<MethodHeader>());

// A run of consecutive methods that belong together has a record: kMethod is the offset of its
// first method, kWords the words of data, kNames NVIDIA's name of each method. This gives the
// header and the data of one, as they stand in a pushbuffer.
template <class Record>
constexpr std::array<u32, Record::kWords + 1> encode_methods(u8 subchannel, const Record& record) {
  std::array<u32, Record::kWords + 1> words{};
  words[0] = encode(MethodHeader{.method = Record::kMethod,
                                 .subchannel = subchannel,
                                 .count = static_cast<u16>(Record::kWords)})[0];
  const Words<Record> data = encode(record);
  std::copy(data.begin(), data.end(), words.begin() + 1);
  return words;
}

}  // namespace doorbell::nv::hw
