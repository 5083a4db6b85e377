// The recorder of NVIDIA's clients, with channels in this process's memory that nothing runs. The
// words of methods are tinygrad's, as in tests/drivers/nv/hw.
#include "tools/trace/nv_recorder.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "drivers/nv/hw/host/user_control.h"
#include "drivers/nv/hw/rm/object.h"
#include "drivers/nv/hw/rm/other_calls.h"
#include "drivers/nv/hw/uvm/ioctl.h"

namespace doorbell::tools {
namespace {

using namespace nv::hw;

constexpr DriverAbi kAbi = DriverAbi::R580;  // where /proc says nothing
constexpr u32 kClient = 0xc1d00001, kChannel = 0x5c000010, kMemory = 0x5c000011;
constexpr u32 kEntries = 64;
constexpr u64 kGpuAddress = 0x1000000000, kUserdOffset = 4096;

class NvRecorderTest : public testing::Test {
 protected:
  template <class Record>
  void escape(const Record& record) {
    std::vector<std::byte> bytes = pack(record, kAbi);
    EXPECT_TRUE(recorder_.ioctl(5, _IOC(_IOC_READ | _IOC_WRITE, 'F', Record::kEscape, bytes.size()),
                                bytes.data(), 0));
  }
  template <class Record>
  void uvm(const Record& record) {
    std::vector<std::byte> bytes = pack(record, kAbi);
    EXPECT_TRUE(recorder_.ioctl(6, Record::kRequest, bytes.data(), 0));
  }

  // The page of the ring, of USERD behind it, and of a pushbuffer: RM's memory, which the process
  // maps through descriptor 9 and the GPU has elsewhere.
  void map() {
    RmMapMemory map;
    map.params = {.client = kClient, .memory = kMemory, .length = sizeof memory_};
    map.fd = 9;
    escape(map);
    recorder_.mapped(9, address(memory_), sizeof memory_);
    uvm(UvmInitialize{});
    uvm(UvmMapExternalAllocation{
        .base = kGpuAddress, .length = sizeof memory_, .client = kClient, .memory = kMemory});
  }
  // As CUDA allocates it: with the rights that it asks for.
  void create(u64 ring, bool with_userd) {
    ChannelParameters parameters{.gp_fifo_offset = ring, .gp_fifo_entries = kEntries};
    if (with_userd) {
      parameters.userd_memory[0] = kMemory;
      parameters.userd_offset[0] = kUserdOffset;
    }
    std::vector<std::byte> bytes = pack(parameters, kAbi);
    escape(RmAllocWithRights{.root = kClient,
                             .object_new = kChannel,
                             .class_id = static_cast<u32>(ClassId::AmpereChannelGpfifoA),
                             .params = reinterpret_cast<u64>(bytes.data()),
                             .params_size = static_cast<u32>(bytes.size())});
    text_.clear();
  }
  // An entry of `words` at an address.
  void put(u32 entry, u64 at, u32 words) {
    memory_[entry * 2] = static_cast<u32>(at);
    memory_[entry * 2 + 1] = static_cast<u32>(at >> 32) | words << 10;
  }
  void announce(u32 entry) { memory_[(kUserdOffset + kUserdGpPut) / 4] = entry; }
  static u64 address(const void* at) { return reinterpret_cast<u64>(at); }
  usize count(std::string_view part) const {
    usize found = 0;
    for (usize at = text_.find(part); at != text_.npos; at = text_.find(part, at + 1)) ++found;
    return found;
  }

  alignas(4096) u32 memory_[3 * 1024] = {};
  u32* const pushbuffer_ = memory_ + 2048;
  const u64 pushbuffer_address_ = kGpuAddress + 8192;
  std::string text_;
  emu::Trace trace_{[this](std::string_view line) { text_ += line; }, emu::Trace::Format::Text};
  const std::string folder_ =
      (std::filesystem::temp_directory_path() / ("nv_recorder_test." + std::to_string(getpid())))
          .string();
  NvRecorder recorder_{&trace_, folder_};

  ~NvRecorderTest() override { std::filesystem::remove_all(folder_); }
};

TEST_F(NvRecorderTest, CallsOfOthersAreNotIts) {
  EXPECT_FALSE(recorder_.ioctl(0, 0x5413, memory_, 0));
  EXPECT_FALSE(recorder_.ioctl(0, 0x4600, memory_, 0));  // FBIOGET_VSCREENINFO
  EXPECT_FALSE(recorder_.ioctl(0, 33, memory_, 0));      // UVM's number, of another file
  EXPECT_EQ(text_, "");
}

TEST_F(NvRecorderTest, EntriesAreRecordedOnce) {
  map();
  create(kGpuAddress, true);
  EXPECT_TRUE(recorder_.poll());
  EXPECT_EQ(text_, "");
  pushbuffer_[0] = 0x20018000;  // SET_OBJECT, one word, subchannel 4
  pushbuffer_[1] = 0x0000c7b5;
  put(0, pushbuffer_address_, 2);
  announce(1);
  recorder_.poll();
  recorder_.poll();
  EXPECT_EQ(count("GP_ENTRY addr=0x1000002000"), 1u) << text_;
  EXPECT_EQ(count("SET_OBJECT subchannel=4 class_id=AMPERE_DMA_COPY_B"), 1u) << text_;
}

TEST_F(NvRecorderTest, TheRingWraps) {
  map();
  create(kGpuAddress, true);
  for (u32 entry = 0; entry < kEntries; ++entry) put(entry, pushbuffer_address_, 1);
  announce(kEntries - 1);
  recorder_.poll();
  announce(2);
  recorder_.poll();
  EXPECT_EQ(count("GP_ENTRY"), kEntries - 1 + 3u);
}

TEST_F(NvRecorderTest, ASubmissionIsKeptAsFiles) {
  map();
  create(kGpuAddress, true);
  pushbuffer_[0] = 0x20018000;
  pushbuffer_[1] = 0x0000c7b5;
  put(0, pushbuffer_address_, 2);
  announce(1);
  recorder_.poll();
  const std::string here = folder_ + "/0000-channel-5c000010/";
  std::ifstream file(here + "decode");
  std::string command;
  std::getline(file, command);
  EXPECT_EQ(command, "doorbell decode gpfifo gpfifo.bin --memory 000.bin@0x1000002000");
  EXPECT_EQ(std::filesystem::file_size(here + "gpfifo.bin"), 8u);
  u32 words[2] = {};
  std::ifstream(here + "000.bin", std::ios::binary)
      .read(reinterpret_cast<char*>(words), sizeof words);
  EXPECT_EQ(words[0], 0x20018000u);
  EXPECT_EQ(words[1], 0x0000c7b5u);
}

// Memory that CUDA has at one address on both, in a channel whose USERD is not the process's.
TEST_F(NvRecorderTest, WithoutUserdEntriesAreThoseThatAreNotEmpty) {
  create(address(memory_), false);
  put(0, address(pushbuffer_), 1);
  put(1, address(pushbuffer_), 1);
  recorder_.poll();
  EXPECT_EQ(count("GP_ENTRY"), 2u) << text_;
  recorder_.poll();
  put(2, address(pushbuffer_), 1);
  recorder_.poll();
  EXPECT_EQ(count("GP_ENTRY"), 3u) << text_;
  for (u32 entry = 3; entry < kEntries; ++entry) put(entry, address(pushbuffer_), 1);
  recorder_.poll();
  recorder_.poll();
  EXPECT_EQ(count("GP_ENTRY"), kEntries - 1u) << "the first lap";
}

TEST_F(NvRecorderTest, ADescriptorsNumberIsUsedAgain) {
  uvm(UvmInitialize{});
  std::vector<std::byte> bytes = pack(RmFree{.root = kClient}, kAbi);
  EXPECT_TRUE(recorder_.ioctl(6, _IOC(_IOC_READ | _IOC_WRITE, 'F', RmFree::kEscape, bytes.size()),
                              bytes.data(), 0));
  EXPECT_EQ(count("NVOS00_PARAMETERS hRoot=0xc1d00001"), 1u) << text_;
}

TEST_F(NvRecorderTest, UnmappedMemoryIsNotRead) {
  map();
  create(kGpuAddress, true);
  put(0, pushbuffer_address_, 1);
  announce(1);
  recorder_.unmapped(address(memory_), sizeof memory_);  // polls for the last time
  EXPECT_EQ(count("GP_ENTRY"), 1u);
  put(1, pushbuffer_address_, 1);
  announce(2);
  recorder_.poll();
  EXPECT_EQ(count("GP_ENTRY"), 1u);
}

TEST_F(NvRecorderTest, LargeCallsAreTransferred) {
  RmFree free{.root = kClient, .object_old = kChannel};
  std::vector<std::byte> bytes = pack(free, kAbi);
  escape(TransferEscape{.cmd = RmFree::kEscape,
                        .size = static_cast<u32>(bytes.size()),
                        .ptr = reinterpret_cast<u64>(bytes.data())});
  EXPECT_EQ(count("NVOS00_PARAMETERS hRoot=0xc1d00001 hObjectOld=0x5c000010"), 1u) << text_;
}

TEST_F(NvRecorderTest, WhatIsNotKnownIsShownAsBytes) {
  const u32 argument[] = {0x04030201};
  EXPECT_TRUE(
      recorder_.ioctl(5, _IOC(_IOC_READ | _IOC_WRITE, 'F', 0xd2, sizeof argument), argument, 0));
  EXPECT_EQ(count("escape 0xd2 4 bytes 01020304"), 1u) << text_;
}

}  // namespace
}  // namespace doorbell::tools
