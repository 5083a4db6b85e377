// RM's events of interrupts: which files become ready, when, and for how long.
#include <poll.h>

#include "drivers/nv/hw/copy/methods.h"
#include "drivers/nv/hw/rm/status.h"
#include "tests/emulator/nv/machine_client.h"

namespace doorbell::emu::nvgpu::testing {
namespace {

constexpr u8 kCopySubchannel = 4;
constexpr u32 value(hw::RmStatus status) { return static_cast<u32>(status); }

class EventTest : public ::testing::Test {
 protected:
  EventTest() {
    client_.make_channel({hw::ClassId::AmpereComputeB, hw::ClassId::AmpereDmaCopyB});
    file_ = client_.open_gpu();
  }
  // The status.
  u32 name_file(os::File& file, int name) {
    hw::AllocOsEvent call{.client = client_.root, .fd = static_cast<u32>(name)};
    return client_.escape(file, call);
  }
  u32 name_file() { return name_file(*file_, file_->descriptor()); }
  // An event of the interrupts of all engines, without data.
  hw::EventParameters parameters() {
    return {.parent_client = client_.root,
            .src_resource = client_.subdevice,
            .event_class = 0x79,
            .notify_index = 0x18000023,
            .data = static_cast<u64>(file_->descriptor())};
  }
  u32 allocate(const hw::EventParameters& given) {
    return client_.alloc(client_.subdevice, 0x79, given);
  }
  void interrupt() {
    client_.push(0, hw::NonStallInterrupt{});
    client_.submit();
  }
  bool is_ready() { return *file_->wait_ready(1000); }

  Client client_;
  std::unique_ptr<os::File> file_;
};

TEST_F(EventTest, IsReportedOnce) {
  ASSERT_EQ(name_file(), 0u);
  ASSERT_NE(allocate(parameters()), 0u);
  EXPECT_FALSE(is_ready());
  interrupt();
  interrupt();
  EXPECT_TRUE(is_ready());
  EXPECT_FALSE(is_ready());
  interrupt();
  EXPECT_TRUE(is_ready());
  EXPECT_EQ(client_.reports(), "");
}

// The program's own poll() sees it, too.
TEST_F(EventTest, MakesTheDescriptorReady) {
  ASSERT_EQ(name_file(), 0u);
  ASSERT_NE(allocate(parameters()), 0u);
  pollfd file{file_->descriptor(), POLLIN, 0};
  EXPECT_EQ(poll(&file, 1, 0), 0);
  interrupt();
  EXPECT_EQ(poll(&file, 1, 0), 1);
  EXPECT_TRUE(is_ready());
  EXPECT_EQ(poll(&file, 1, 0), 0);
}

TEST_F(EventTest, FollowsCopiesThatInterrupt) {
  ASSERT_EQ(name_file(), 0u);
  ASSERT_NE(allocate(parameters()), 0u);
  client_.push(kCopySubchannel, hw::SetObject{hw::ClassId::AmpereDmaCopyB});
  client_.push(kCopySubchannel,
               hw::CopySemaphore{.addr_upper = static_cast<u32>(client_.data.address >> 32),
                                 .addr_lower = static_cast<u32>(client_.data.address),
                                 .payload = 9});
  client_.push(kCopySubchannel,
               hw::CopyLaunch{.flush_enable = true, .semaphore = hw::CopySemaphoreType::Release});
  client_.submit();
  EXPECT_FALSE(is_ready());
  client_.push(kCopySubchannel, hw::CopyLaunch{.flush_enable = true,
                                               .semaphore = hw::CopySemaphoreType::Release,
                                               .interrupt = hw::CopyInterrupt::NonBlocking});
  client_.submit();
  EXPECT_TRUE(is_ready());
  EXPECT_EQ(client_.data.words()[0], 9u);
}

TEST_F(EventTest, EndsWithItsObject) {
  ASSERT_EQ(name_file(), 0u);
  const u32 event = allocate(parameters());
  ASSERT_NE(event, 0u);
  EXPECT_EQ(client_.free(event), 0u);
  interrupt();
  EXPECT_FALSE(is_ready());
}

// [osapi.c allocate_os_event(): one event for a file and client]
TEST_F(EventTest, AFileIsNamedOnce) {
  ASSERT_EQ(name_file(), 0u);
  EXPECT_EQ(name_file(), value(hw::RmStatus::InsufficientResources));
  EXPECT_EQ(client_.count("NV-RM-001"), 1u) << client_.reports();
  file_ = client_.open_gpu();
  EXPECT_EQ(name_file(), 0u);
}

TEST_F(EventTest, NeedsAFileWithAName) {
  EXPECT_EQ(allocate(parameters()), 0u);
  EXPECT_EQ(client_.status(), value(hw::RmStatus::ObjectNotFound));
  EXPECT_EQ(client_.count("NV-RM-002"), 1u) << client_.reports();
}

// [event_notification.c registerEventNotification()]
TEST_F(EventTest, OfInterruptsIsOfASubdevice) {
  ASSERT_EQ(name_file(), 0u);
  hw::EventParameters given = parameters();
  given.src_resource = client_.device;
  EXPECT_EQ(allocate(given), 0u);
  EXPECT_EQ(client_.status(), value(hw::RmStatus::InvalidArgument));
  EXPECT_EQ(client_.count("NV-RM-005"), 1u) << client_.reports();
}

}  // namespace
}  // namespace doorbell::emu::nvgpu::testing
