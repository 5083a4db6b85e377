// Records of methods against the words that tinygrad emits for the same, see words.h.
#include "drivers/nv/hw/methods.h"

#include <gtest/gtest.h>

#include "drivers/nv/hw/host/gp_entry.h"
#include "tests/drivers/nv/hw/words.h"

namespace doorbell::nv::hw {
namespace {

using testing::words_of;

template <class Record>
void append(std::vector<u32>* words, u8 subchannel, const Record& record) {
  const auto run = encode_methods(subchannel, record);
  words->insert(words->end(), run.begin(), run.end());
}

// Of a record only the first `count` methods from the one at `method` on.
template <class Record>
void append_some(std::vector<u32>* words, u8 subchannel, u32 method, u16 count,
                 const Record& record) {
  words->push_back(
      encode(MethodHeader{.method = method, .subchannel = subchannel, .count = count})[0]);
  const Words<Record> data = encode(record);
  const auto first = data.begin() + (method - Record::kMethod) / 4;
  words->insert(words->end(), first, first + count);
}

TEST(Methods, AreTinygradsWordsOfACompute) {
  constexpr u64 kSignal = 0x10fffff040;
  std::vector<u32> words;
  append(&words, 1, SetObject{.class_id = ClassId::AmpereComputeB});
  append(&words, 1, LocalMemoryWindow{address_words(0x729300000000)});
  append(&words, 1, SharedMemoryWindow{address_words(0x729400000000)});
  append(&words, 1, LocalMemory{address_words(0x1020000000)});
  append(&words, 1, LocalMemorySize{.size_lower = 0x480000, .max_sm_count = 0xff});
  append(&words, 0,
         Semaphore{.addr = kSignal,
                   .payload = 7,
                   .operation = SemOperation::AcqCircGeq,
                   .payload_64bit = true});
  append(&words, 1,
         InvalidateShaderCachesNoWfi{.instruction = true, .global_data = true, .constant = true});
  append(&words, 1, SendPcasA{.qmd_address = testing::kKernargs + 0x200});
  append(&words, 1, SendSignalingPcas2B{.action = PcasAction::PrefetchSchedule});
  // The release of 8 is in the second QMD; the timestamp's in its other one; 9 goes here.
  append(&words, 0,
         Semaphore{.addr = kSignal,
                   .payload = 9,
                   .operation = SemOperation::Release,
                   .release_wfi = true,
                   .payload_64bit = true,
                   .release_timestamp = true});
  append(&words, 0, NonStallInterrupt{});
  EXPECT_EQ(words, words_of("ga10x_compute.pushbuffer"));
}

TEST(Methods, AreTinygradsWordsOfACopy) {
  std::vector<u32> words;
  append(&words, 4, SetObject{.class_id = ClassId::AmpereDmaCopyB});
  append(&words, 0,
         Semaphore{.addr = 0x10fffff040,
                   .payload = 9,
                   .operation = SemOperation::AcqCircGeq,
                   .payload_64bit = true});
  for (const u32 part : {0x8000'0000u, 0x10u}) {
    const u32 offset = part == 0x10 ? 0x8000'0000 : 0;
    const CopyExtent extent{.in_upper = 0x11,
                            .in_lower = offset,
                            .out_upper = 0x12,
                            .out_lower = offset,
                            .line_length = part};
    append_some(&words, 4, 0x400, 4, extent);
    append_some(&words, 4, 0x418, 1, extent);
    append(&words, 4, CopyLaunch{.transfer = CopyTransfer::NonPipelined});
  }
  append_some(&words, 4, 0x240, 3,
              CopySemaphore{.addr_upper = 0x10, .addr_lower = 0xfffff040, .payload = 10});
  append(&words, 4,
         CopyLaunch{.flush_enable = true,
                    .semaphore = CopySemaphoreType::WithTimestamp,
                    .src_pitch = false,
                    .dst_pitch = false});
  EXPECT_EQ(words, words_of("ga10x_copy.pushbuffer"));
}

TEST(Methods, EntriesOfARing) {
  const auto words = words_of("ga10x_compute.gpfifo");
  const GpEntry entry{.addr = 0x1040000000, .subroutine = true, .length = 35};
  EXPECT_EQ(std::vector<u32>(words.begin(), words.end()),
            (std::vector<u32>{encode(entry)[0], encode(entry)[1]}));
}

// Two runs of one class never share a method, so that a method means one thing.
TEST(Methods, NoTwoRecordsShareAMethod) {
  struct Run {
    ClassKind kind;
    u32 first, words;
  };
  const Run runs[] = {
#define DOORBELL_NV_METHODS(kind, Record) {ClassKind::kind, Record::kMethod, Record::kWords},
#include "drivers/nv/hw/methods.def"
  };
  for (const Run& one : runs)
    for (const Run& other : runs) {
      if (&one == &other || one.kind != other.kind) continue;
      const bool apart =
          one.first + one.words * 4 <= other.first || other.first + other.words * 4 <= one.first;
      EXPECT_TRUE(apart) << fmt::format("{:#x} and {:#x}", one.first, other.first);
    }
}

TEST(Methods, NamesAreNvidias) {
  EXPECT_EQ(method_name(ClassKind::Channel, 0x64), "SEM_PAYLOAD_LO");
  EXPECT_EQ(method_name(ClassKind::Channel, 0x50), "SET_REFERENCE");
  EXPECT_EQ(method_name(ClassKind::Copy, 0x40c), "OFFSET_OUT_LOWER");
  EXPECT_EQ(method_name(ClassKind::Compute, 0x110), "WAIT_FOR_IDLE");
  EXPECT_EQ(method_name(ClassKind::Compute, 0x40c), "");
  EXPECT_EQ(name_of(ClassId::HopperComputeA), "HOPPER_COMPUTE_A");
}

}  // namespace
}  // namespace doorbell::nv::hw
