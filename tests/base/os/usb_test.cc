// The system's USB devices, on a library that stands in for libusb.
#include "base/os/usb.h"

#include <array>
#include <cerrno>

#include <gtest/gtest.h>
#include <libusb-1.0/libusb.h>

namespace doorbell::os {
namespace {

constexpr u64 kMillisecond_ns = 1'000'000;

struct UsbTest : ::testing::Test {
  // This program is linked to a library of that name, which is the one that opens, too.
  UsbTest() {
    EXPECT_STREQ(libusb_strerror(LIBUSB_ERROR_IO), "some error");
    device = std::move(*host_usb().open({"1-2", 0xadd1, 1}, 0));
  }
  std::unique_ptr<UsbDevice> device;
};

TEST_F(UsbTest, ListsAndClaims) {
  EXPECT_EQ(*host_usb().list(), (std::vector<UsbId>{{"1-2", 0xadd1, 1}}));
  EXPECT_EQ(device->product(), "custom");
  const auto taken = host_usb().open({"1-2", 0xadd1, 1}, 1);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().kind, ErrorKind::Busy);
  EXPECT_EQ(host_usb().open({"9-9", 1, 1}, 0).error().message,
            "there is no USB device 9-9 any more");
}

TEST_F(UsbTest, SendsSetupPackets) {
  std::array<u8, 9> bytes{};
  EXPECT_EQ(*device->control({kUsbVendorIn, 0xe4, 0xb450, 0x0102}, bytes, kMillisecond_ns), 9u);
  EXPECT_EQ(bytes, (std::array<u8, 9>{0xc0, 0xe4, 0x50, 0xb4, 0x02, 0x01, 9, 0, 0xc0}));
  EXPECT_EQ(*device->control({kUsbVendorOut, 0xf3, 1, 0}, {}, kMillisecond_ns), 0u);
}

TEST_F(UsbTest, MovesBytesInBothDirectionsAtOnce) {
  std::array<u8, 16> out{}, in{};
  const u32 first = *device->start_bulk(0x02, out, kMillisecond_ns);
  const u32 second = *device->start_bulk(0x81, in, kMillisecond_ns);
  EXPECT_EQ(*device->finish(second), 7u);
  EXPECT_EQ(in[6], 7);
  EXPECT_EQ(*device->finish(first), 16u);
  EXPECT_FALSE(device->finish(first));
}

TEST_F(UsbTest, NamesWhatFails) {
  std::array<u8, 16> bytes{};
  const auto stalled = device->bulk(0x83, bytes, kMillisecond_ns);
  ASSERT_FALSE(stalled);
  EXPECT_EQ(stalled.error().os_errno, EPIPE);
  EXPECT_EQ(stalled.error().message,
            "USB device 1-2: transfer of 16 bytes at endpoint 0x83: Pipe error");
  ASSERT_TRUE(device->clear_stall(0x83));
  EXPECT_EQ(*device->bulk(0x83, bytes, kMillisecond_ns), 16u);
  EXPECT_EQ(device->bulk(0x84, bytes, kMillisecond_ns).error().kind, ErrorKind::Timeout);
  EXPECT_EQ(device->bulk(0x85, bytes, kMillisecond_ns).error().kind, ErrorKind::DeviceLost);
}

// The device does not answer: its transfers are cancelled, so that nobody writes into memory that
// is gone.
TEST_F(UsbTest, EndsWithTransfersUnderWay) {
  std::array<u8, 16> bytes{};
  ASSERT_TRUE(device->start_bulk(0x84, bytes, 1000 * kMillisecond_ns));
  ASSERT_TRUE(device->start_bulk(0x02, bytes, 1000 * kMillisecond_ns));
  std::array<u8, 1> more{};
  ASSERT_TRUE(device->control({kUsbVendorIn, 1, 0, 0}, more, kMillisecond_ns));
  device.reset();
}

}  // namespace
}  // namespace doorbell::os
