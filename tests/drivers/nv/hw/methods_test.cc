// Records of methods against the words that tinygrad emits for the same, see words.h; those of
// Hopper, which it does not drive without CUDA, against what NVIDIA's own unified memory driver
// pushes there, evaluated by hand (open-gpu-kernel-modules 595.45.04 kernel-open/nvidia-uvm).
#include "drivers/nv/hw/methods.h"

#include <gtest/gtest.h>

#include "drivers/nv/hw/host/gp_entry.h"
#include "drivers/nv/hw/host/user_control.h"
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

// uvm_hal_hopper_host_set_gpfifo_entry(): 8 words at 0x1040000000, which wait for those before.
TEST(Methods, EntriesOfARingAreUvmsOnHopper) {
  EXPECT_EQ(encode(GpEntry{.addr = 0x1040000000, .length = 8, .sync = GpSync::Wait}),
            (Words<GpEntry>{0x40000000, 0x80002010}));
  // uvm_hal_hopper_host_set_gpfifo_pushbuffer_segment_base(): bits 56:40 of an address, of 0x2...
  EXPECT_EQ(encode(GpControlEntry{.operand = 0x2 << 8, .opcode = GpOpcode::SetExtendedBase}),
            (Words<GpControlEntry>{0x200, 4}));
}

// uvm_hal_hopper_host_semaphore_acquire(), _timestamp().
TEST(Methods, SemaphoresAreUvmsOnHopper) {
  std::vector<u32> words;
  append(&words, 0,
         Semaphore{.addr = 0x1'23'4567'8900,
                   .payload = 7,
                   .operation = SemOperation::AcqCircGeq,
                   .acquire_switch_tsg = true});
  append(&words, 0,
         Semaphore{.addr = 0x1'23'4567'8900,
                   .payload = 0xdeadbeef,
                   .operation = SemOperation::Release,
                   .release_timestamp = true});
  EXPECT_EQ(words, (std::vector<u32>{0x20050017, 0x45678900, 0x123, 7, 0, 0x1003, 0x20050017,
                                     0x45678900, 0x123, 0xdeadbeef, 0, 0x02000001}));
}

// uvm_hal_hopper_ce_semaphore_release() behind a membar of the system, and _timestamp().
TEST(Methods, SemaphoresOfCopiesAreUvmsOnHopper) {
  const CopySemaphore semaphore{.addr_upper = 0x123, .addr_lower = 0x45678900, .payload = 7};
  std::vector<u32> words;
  append_some(&words, 4, CopySemaphore::kMethod, 3, semaphore);
  append(&words, 4,
         CopyLaunch{.flush_enable = true,
                    .semaphore = CopySemaphoreType::Release,
                    .src_pitch = false,
                    .dst_pitch = false,
                    .disable_plc = true});
  append(&words, 4,
         CopyLaunch{.semaphore = CopySemaphoreType::WithTimestamp,
                    .src_pitch = false,
                    .dst_pitch = false,
                    .disable_plc = true});
  EXPECT_EQ(words, (std::vector<u32>{0x20038090, 0x123, 0x45678900, 7, 0x200180c0, 0x0400000c,
                                     0x200180c0, 0x04000010}));
}

// libcuda's copy to the host on an H100: the copy, and then the release alone.
// [maxime-peim/libcuda-research 516ea83 docs/gpfifo_pushbuffer_reference.md, sections 6 and 9]
TEST(Methods, CopiesAreLibcudasOnHopper) {
  std::vector<u32> words;
  append(&words, 4, CopyLaunch{.transfer = CopyTransfer::NonPipelined});
  append(&words, 4,
         CopyLaunch{.flush_enable = true,
                    .semaphore = CopySemaphoreType::Release,
                    .src_pitch = false,
                    .dst_pitch = false});
  EXPECT_EQ(words, (std::vector<u32>{0x200180c0, 0x182, 0x200180c0, 0x00c}));
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

// What no method reaches: clc56f.h Nvc56fControl GPGet and GPPut; clc361.h
// NVC361_NOTIFY_CHANNEL_PENDING in a mapping of NVC361_NV_USERMODE__SIZE.
TEST(UserControl, LiesWhereNvidiasHeadersSay) {
  EXPECT_EQ(kUserdGpGet, 0x88u);
  EXPECT_EQ(kUserdGpPut, 0x8cu);
  EXPECT_EQ(kDoorbell, 0x90u);
  EXPECT_EQ(kUsermodeBytes, 65536u);
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
