// Requests to a bridge from USB as tinygrad sends them: the words are those of its
// CustomASM24Controller (a9069c177a, tinygrad/runtime/support/usb.py), called on a recorder. And
// what answers that are wrong become.
#include "drivers/amd/kernel/usb/usb_bridge.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <map>

#include <fmt/format.h>

#include "base/util/try.h"
#include "tests/support/fake_system.h"

namespace doorbell::amd {
namespace {

// Writes down what it is sent; answers with what a test says.
struct Recorded {
  std::vector<std::string> log;
  std::vector<u8> answer = {0x02, 0x10, 0x4c, 0x74, 0, 4, 0, 0};
  u8 link = 0x78;
  int fail_at = -1;  // the transfer that stalls
};

class RecordingDevice final : public os::UsbDevice {
 public:
  explicit RecordingDevice(Recorded& to) : to_(to) {}
  std::string product() override { return "custom"; }
  Result<u32> start_control(const os::UsbSetup& setup, std::span<u8> data, u64) override {
    const bool is_in = (setup.type & 0x80) != 0;
    std::string line = fmt::format("{} {:#x} {:#x} {:#x} ", is_in ? "in" : "out", setup.request,
                                   setup.value, setup.index);
    line += is_in ? fmt::format("{}", data.size()) : hex(data);
    if (is_in && setup.request == 0xe4) data[0] = to_.link;
    if (is_in && setup.request == 0xf0)
      std::copy_n(to_.answer.begin(), std::min(to_.answer.size(), data.size()), data.begin());
    const usize moved =
        is_in && setup.request == 0xf0 ? std::min(to_.answer.size(), data.size()) : data.size();
    return note(line, moved);
  }
  Result<u32> start_bulk(u8 endpoint, std::span<u8> data, u64) override {
    return note(endpoint == 0x81 ? fmt::format("bulk in {}", data.size()) : "bulk out " + hex(data),
                data.size());
  }
  Result<usize> finish(u32 number) override {
    if (static_cast<int>(number) == to_.fail_at) {
      Error error = fail(ErrorKind::Os, "transfer {} stalls", number);
      error.os_errno = EPIPE;
      return error;
    }
    return moved_.at(number);
  }
  Result<void> clear_stall(u8 endpoint) override {
    to_.log.push_back(fmt::format("clear {:#x}", endpoint));
    return {};
  }

 private:
  static std::string hex(std::span<const u8> data) {
    std::string text;
    for (const u8 byte : data) text += fmt::format("{:02x}", byte);
    return text;
  }
  u32 note(std::string line, usize moved) {
    const u32 number = static_cast<u32>(to_.log.size());
    to_.log.push_back(std::move(line));
    moved_[number] = moved;
    return number;
  }
  Recorded& to_;
  std::map<u32, usize> moved_;
};

struct RecordingUsb final : os::Usb {
  Recorded recorded;
  Result<std::vector<os::UsbId>> list() override {
    return std::vector<os::UsbId>{{"1-1", 0x1d6b, 3}, {"2-7", 0xadd1, 1}, {"2-8", 0x3801, 1}};
  }
  Result<std::unique_ptr<os::UsbDevice>> open(const os::UsbId&, u8) override {
    return std::make_unique<RecordingDevice>(recorded);
  }
};

struct UsbBridgeTest : ::testing::Test {
  RecordingUsb usb;
  testing::FakeClock clock;
  std::vector<std::string>& log = usb.recorded.log;

  std::unique_ptr<UsbBridge> open() {
    auto bridge = UsbBridge::open(usb, clock, {"2-7", 0xadd1, 1});
    EXPECT_TRUE(bridge) << bridge.error().message;
    log.clear();
    return std::move(*bridge);
  }
};

TEST_F(UsbBridgeTest, IsFoundAmongDevices) {
  const auto found = list_bridges(usb);
  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 2u);
  EXPECT_EQ((*found)[0].address, "2-7");
}

TEST_F(UsbBridgeTest, SendsWhatTinygradSends) {
  auto bridge = open();
  EXPECT_EQ(*bridge->read_config(4, 0x10, 4), 0x744c1002u);
  EXPECT_EQ(*bridge->read_config(0, 0x06, 2), 0x744cu);
  ASSERT_TRUE(bridge->write_config(3, 0x19, 1, 0xab));
  ASSERT_TRUE(bridge->write_memory(0x812345678, std::vector<u8>{0, 1, 2, 3, 4, 5, 6, 7}));
  std::vector<u8> twelve(12), four(4);
  ASSERT_TRUE(bridge->read_memory(0x10000040, twelve));
  ASSERT_TRUE(bridge->write_memory(0x10000008, std::vector<u8>{0xef, 0xbe, 0xad, 0xde}));
  ASSERT_TRUE(bridge->read_memory(0x10000008, four));
  EXPECT_EQ(four, (std::vector<u8>{0x02, 0x10, 0x4c, 0x74}));
  EXPECT_EQ(log, (std::vector<std::string>{
                     "out 0xf0 0xf05 0x0 100000040000000000000000",
                     "in 0xf0 0x0 0x0 8",
                     "out 0xf0 0xc04 0x0 040000000000000000000000",
                     "in 0xf0 0x0 0x0 8",
                     "out 0xf0 0x245 0x0 180000030000000000ab0000",
                     "in 0xf0 0x0 0x0 8",
                     "out 0xf0 0xf60 0x1 785634120800000002000000",
                     "bulk out 0001020304050607",
                     "out 0xf0 0xf20 0x2 400000100000000003000000",
                     "bulk in 12",
                     "out 0xf0 0xf60 0x0 0800001000000000efbeadde",
                     "out 0xf0 0xf20 0x0 080000100000000000000000",
                     "in 0xf0 0x0 0x0 8",
                 }));
}

TEST_F(UsbBridgeTest, SwitchesTheGpuOn) {
  usb.recorded.link = 0;
  const auto bridge = UsbBridge::open(usb, clock, {"2-7", 0xadd1, 1});
  ASSERT_FALSE(bridge);
  EXPECT_NE(bridge.error().message.find("USB device 2-7 has no GPU that answers: the link's state "
                                        "is 0x0, expected 0x78"),
            std::string::npos)
      << bridge.error().message;
  ASSERT_GE(log.size(), 2u);
  EXPECT_EQ(log[0], "in 0xe4 0xb450 0x0 1");
  EXPECT_EQ(log[1], "out 0xf3 0x1 0x0 ");
}

// Unsupported Request is what nobody answers with; Config Retry is asked again.
TEST_F(UsbBridgeTest, SaysHowARequestEnded) {
  auto bridge = open();
  usb.recorded.answer = {0, 0, 0, 0, 0x20, 4, 0, 0};
  EXPECT_EQ(bridge->read_config(1, 0, 2).error().kind, ErrorKind::NotFound);
  ASSERT_TRUE(bridge->state());
  usb.recorded.answer = {0, 0, 0, 0, 0x40, 4, 0, 0};
  const auto late = bridge->read_config(1, 0, 2);
  EXPECT_NE(late.error().message.find("not ready within a second"), std::string::npos)
      << late.error().message;
  EXPECT_GT(log.size(), 100u);
  usb.recorded.answer = {0, 0, 0, 0, 0, 0, 0, 0xff};
  EXPECT_NE(bridge->read_config(1, 0, 2).error().message.find("no answer within a second"),
            std::string::npos);
}

TEST_F(UsbBridgeTest, EndsAtTheFirstTransferThatFails) {
  auto bridge = open();
  usb.recorded.fail_at = 1;
  std::vector<u8> bytes(64);
  const auto written = bridge->write_memory(0x1000, bytes);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().os_errno, EPIPE);
  EXPECT_EQ(log.back(), "clear 0x2");
  const usize sent = log.size();
  EXPECT_FALSE(bridge->state());
  EXPECT_FALSE(bridge->read_memory(0x1000, bytes));
  EXPECT_FALSE(bridge->read_config(0, 0, 4));
  EXPECT_EQ(log.size(), sent);
}

TEST_F(UsbBridgeTest, RefusesAnAnswerThatIsShort) {
  auto bridge = open();
  usb.recorded.answer.resize(5);
  std::vector<u8> four(4);
  const auto read = bridge->read_memory(0x1000, four);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("USB device 2-7: a reply of 5 bytes, expected 8"),
            std::string::npos)
      << read.error().message;
}

TEST_F(UsbBridgeTest, StreamsInPieces) {
  auto bridge = open();
  std::vector<u8> bytes((usize{256} << 10) * 5 + 4);
  ASSERT_TRUE(bridge->read_memory(u64{32} << 30, bytes));
  ASSERT_EQ(log.size(), 7u);
  EXPECT_EQ(log[0], "out 0xf0 0xf20 0x2 000000000800000001000500");
  EXPECT_EQ(log[5], "bulk in 262144");
  EXPECT_EQ(log[6], "bulk in 4");
}

}  // namespace
}  // namespace doorbell::amd
