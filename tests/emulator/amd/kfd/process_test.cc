// The process's ioctls: version, apertures, clocks, and what comes before ACQUIRE_VM.
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "emulator/amd/all_checks.h"
#include "emulator/amd/machine_text.h"
#include "emulator/core/number.h"
#include "tests/emulator/amd/kfd/client.h"

namespace doorbell::emu::amdgpu::testing {

using namespace amd::hw;
namespace {

using ProcessTest = ClientTest;

TEST_F(ProcessTest, VersionIsOneThatClientsKnow) {
  KfdGetVersion version;
  ASSERT_EQ(call(version), 0);
  EXPECT_EQ(version.major_version, 1u);
  EXPECT_GE(version.minor_version, 14u);
}

TEST_F(ProcessTest, NothingWorksBeforeItsAddressSpace) {
  EXPECT_EQ(call(KfdAllocMemory{
                .va_addr = 0x10000, .size = 4096, .gpu_id = id(), .flags = kAll | kKfdMemVram}),
            ENODEV);
  EXPECT_EQ(call(KfdCreateQueue{.gpu_id = id()}), ESRCH);
  EXPECT_EQ(call(KfdSetTrapHandler{.gpu_id = id()}), ESRCH);
  EXPECT_GE(checks().count(kProcess), 3u);
  acquire();
  EXPECT_EQ(call(KfdSetTrapHandler{.gpu_id = id()}), 0);
}

TEST_F(ProcessTest, AcquiresWithTheGpusOwnNode) {
  u32 other = static_cast<u32>(render_[1]->descriptor());
  EXPECT_EQ(call(KfdAcquireVm{.drm_fd = other, .gpu_id = id(0)}), EINVAL);
  EXPECT_EQ(call(KfdAcquireVm{.drm_fd = ~0u, .gpu_id = id(0)}), EINVAL);
  EXPECT_EQ(call(KfdAcquireVm{.drm_fd = 0, .gpu_id = 3}), EINVAL);
  acquire(0);
  acquire(1);
}

// [kfd_ioctl_acquire_vm(): pdd->drm_file]
TEST_F(ProcessTest, TheFirstOpenOfANodeIsTheOneThatCounts) {
  acquire(0);
  acquire(0);
  const int copy = dup(render_[0]->descriptor());
  EXPECT_EQ(call(KfdAcquireVm{.drm_fd = static_cast<u32>(copy), .gpu_id = id(0)}), 0);
  close(copy);
  auto again = std::move(*files_->open("/dev/dri/renderD128", os::Access::ReadWrite));
  const u32 other = static_cast<u32>(again->descriptor());
  EXPECT_EQ(call(KfdAcquireVm{.drm_fd = other, .gpu_id = id(0)}), EBUSY);
  EXPECT_EQ(checks().count(kProcess), 1u);
  render_[0].reset();
  EXPECT_EQ(call(KfdAcquireVm{.drm_fd = other, .gpu_id = id(0)}), EBUSY)
      << "the driver has it open";
  EXPECT_EQ(call(KfdAcquireVm{.drm_fd = ~0u, .gpu_id = id(0)}), EINVAL);
}

TEST_F(ProcessTest, ArgumentsAreOnesThatThereAre) {
  acquire(0);
  EXPECT_EQ(call(KfdGetClockCounters{.gpu_id = id()}), 0);
  EXPECT_EQ(call(KfdGetClockCounters{}), 0) << "of the processor";
  u64 word = 0;
  EXPECT_EQ(call(KfdRuntimeEnable{.r_debug = reinterpret_cast<u64>(&word), .mode_mask = 3}), 0);
  EXPECT_EQ(call(KfdRuntimeEnable{}), 0);
  EXPECT_TRUE(checks().reports().empty());
  EXPECT_EQ(call(KfdGetClockCounters{.gpu_id = 3}), 0) << "a warning here, as all of these";
  EXPECT_EQ(checks().count(kUnknownFlags), 1u);
  EXPECT_EQ(call(KfdRuntimeEnable{.mode_mask = 4}), 0);
  EXPECT_EQ(call(KfdRuntimeEnable{.r_debug = 8}), 0);
  EXPECT_EQ(checks().count(kUnknownFlags), 3u);
  EXPECT_EQ(call(KfdGetClockCounters{.gpu_id = id(), .pad = 1}), 0);
  EXPECT_EQ(checks().count(kUnreadArgument), 1u);
}

TEST_F(ProcessTest, AtErrorArgumentsThatAreNoneFail) {
  ASSERT_TRUE(checks().configure("error", all_checks()));
  acquire(0);
  EXPECT_EQ(call(KfdGetClockCounters{.gpu_id = id(), .pad = 1}), EINVAL);
  EXPECT_EQ(call(KfdGetClockCounters{.gpu_id = 3}), EINVAL);
  EXPECT_EQ(
      call(KfdAllocMemory{
          .va_addr = 0x10000, .size = 4096, .gpu_id = id(), .flags = kAll | kKfdMemVram | 1 << 10}),
      EINVAL);
  EXPECT_EQ(call(KfdCreateEvent{.event_type = kKfdEventMemory + 1}), EINVAL);
  EXPECT_EQ(call(KfdCreateEvent{.auto_reset = 2}), EINVAL);
  EXPECT_EQ(call(KfdCreateEvent{.node_id = 3}), EINVAL) << "two GPUs and the processor";
  EXPECT_EQ(call(KfdWaitEvents{.wait_for_all = 2}), EINVAL);
  EXPECT_EQ(checks().count(kUnknownFlags), 4u);
  EXPECT_EQ(checks().count(kUnreadArgument), 3u);
}

// An emulator's own limit: the kernel keeps the file, not a descriptor.
TEST_F(ProcessTest, AVmThatCannotBeKeptOpenIsNotAcquired) {
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 3, .rlim_max = before.rlim_max};
  const u32 node = static_cast<u32>(render_[0]->descriptor());
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const int told = call(KfdAcquireVm{.drm_fd = node, .gpu_id = id(0)});
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(told, EMFILE);
  EXPECT_EQ(call(KfdSetTrapHandler{.gpu_id = id()}), ESRCH) << "nothing was acquired";
  acquire(0);
  EXPECT_EQ(call(KfdSetTrapHandler{.gpu_id = id()}), 0);
}

TEST_F(ProcessTest, AperturesAreCountedThenFilled) {
  KfdGetProcessAperturesNew count;
  ASSERT_EQ(call(count), 0);
  EXPECT_EQ(count.num_of_nodes, 2u);
  KfdProcessDeviceApertures entries[2];
  count.kfd_process_device_apertures_ptr = reinterpret_cast<u64>(entries);
  ASSERT_EQ(call(count), 0);
  EXPECT_EQ(entries[0].gpu_id, id(0));
  EXPECT_EQ(entries[1].gpu_id, id(1));
  // [amdkfd/kfd_flat_memory.c: LDS and scratch of gfx9 and later]
  EXPECT_EQ(entries[0].lds_base, 0x1'0000'0000'0000u);
  EXPECT_EQ(entries[0].scratch_base, 0x2'0000'0000'0000u);
  EXPECT_EQ(entries[0].scratch_limit, 0x2'0000'ffff'ffffu);
  count.kfd_process_device_apertures_ptr = 16;
  EXPECT_EQ(call(count), EFAULT);
}

TEST_F(ProcessTest, ClocksGoOn) {
  KfdGetClockCounters first{.gpu_id = id()}, second{.gpu_id = id()};
  ASSERT_EQ(call(first), 0);
  ASSERT_EQ(call(second), 0);
  EXPECT_EQ(first.system_clock_freq, 1'000'000'000u);
  EXPECT_GT(first.gpu_clock_counter, 0u);
  EXPECT_GE(second.system_clock_counter, first.system_clock_counter);
}

TEST_F(ProcessTest, UnknownIoctlsAreRefusedAndNamed) {
  KfdGetVersion version;
  EXPECT_EQ(kfd_->ioctl(0x40044b7f, &version).error().os_errno, EINVAL);
  EXPECT_EQ(checks().count(kProcess), 0u) << "no kernel has it";
  EXPECT_EQ(kfd_->ioctl(0xc0184b20, &version).error().os_errno, EINVAL);
  EXPECT_NE(checks().reports().back().message.find("0xc0184b20"), std::string::npos) << "SVM";
  EXPECT_EQ(checks().count(kNotEmulated), 1u);
  EXPECT_EQ(kfd_->ioctl(kRequest<KfdGetVersion>, nullptr).error().os_errno, EFAULT);
}

// Each failing ioctl reports one message, which begins with its name and has the wrong argument.
TEST_F(ProcessTest, FailuresNameTheIoctlAndItsArgument) {
  const std::string no_memory =
      ": its argument, or an array that it points to, is not memory of the process";
  acquire();
  Memory memory = allocate(0x1000);
  const auto told = [&](int why, int expected) {
    EXPECT_EQ(why, expected);
    EXPECT_EQ(checks().reports().size(), 1u);
    const std::string message =
        checks().reports().empty() ? "nothing" : checks().reports()[0].message;
    checks().clear();
    return message;
  };
  EXPECT_EQ(told(call(KfdMapMemory{.handle = 0x1234, .n_devices = 1}), EINVAL),
            "MAP_MEMORY_TO_GPU: handle 0x1234 is of GPU 0x0, which does not exist");
  EXPECT_EQ(told(call(KfdFreeMemory{.handle = 77}), EINVAL),
            "FREE_MEMORY_OF_GPU: handle 0x4d is of GPU 0x0, which does not exist");
  EXPECT_EQ(told(call(KfdSetTrapHandler{.gpu_id = 7}), EINVAL),
            "SET_TRAP_HANDLER: no GPU has id 0x7");
  EXPECT_EQ(told(call(KfdDestroyQueue{.queue_id = 9}), EINVAL),
            "DESTROY_QUEUE: queue 9 to destroy does not exist");
  EXPECT_EQ(told(call(KfdSetEvent{.event_id = 5}), EINVAL),
            "SET_EVENT: event 5 to set does not exist");
  EXPECT_EQ(told(call(KfdImportDmabuf{.gpu_id = id(), .dmabuf_fd = 0}), EINVAL),
            "IMPORT_DMABUF: descriptor 0 is no dma-buf of these GPUs");
  EXPECT_EQ(told(call(KfdAllocMemory{.va_addr = 0x7e00'0000'0000,
                                     .size = u64{1} << 40,
                                     .gpu_id = id(),
                                     .flags = kAll | kKfdMemVram}),
                 ENOMEM),
            "ALLOC_MEMORY_OF_GPU: 0x10000000000 bytes of VRAM of GPU 0, where 0x5ff000000 are "
            "left");
  EXPECT_EQ(told(call(KfdWaitEvents{.events_ptr = 8, .num_events = 1}), EFAULT),
            "WAIT_EVENTS" + no_memory);
  EXPECT_EQ(told(call(KfdMapMemory{.handle = memory.handle, .n_devices = 1 << 20}), ENOMEM),
            "MAP_MEMORY_TO_GPU: a list of 1048576 GPUs, at most 65536");
  EXPECT_EQ(told(kfd_->ioctl(kRequest<KfdGetVersion>, nullptr).error().os_errno, EFAULT),
            "GET_VERSION" + no_memory);
  EXPECT_EQ(told(render_[0]->ioctl(kRequest<DrmGetClient>, nullptr).error().os_errno, EFAULT),
            "GET_CLIENT" + no_memory);
}

// As clients before 1.17 call it: without the last two words.
TEST_F(ProcessTest, OlderSizesOfArgumentsWork) {
  acquire();
  std::vector<u8> bytes(kKfdCreateQueueOldBytes + 8, 0xab);
  u32 request = (kRequest<KfdCreateQueue> & ~(0x3fffu << 16)) | kKfdCreateQueueOldBytes << 16;
  EXPECT_FALSE(kfd_->ioctl(request, bytes.data()));
  EXPECT_EQ(bytes[kKfdCreateQueueOldBytes], 0xab) << "nothing is written behind";
}

TEST_F(ProcessTest, RuntimeIsEnabledOnce) {
  EXPECT_EQ(call(KfdRuntimeEnable{.mode_mask = 0}), 0);
  EXPECT_EQ(call(KfdRuntimeEnable{.mode_mask = 1}), 0);
  EXPECT_EQ(checks().count(kRuntimeOrder), 1u) << "before ACQUIRE_VM";
  EXPECT_EQ(call(KfdRuntimeEnable{.mode_mask = 1}), EBUSY);
  EXPECT_EQ(checks().count(kRuntimeOrder), 2u) << "twice";
  EXPECT_EQ(call(KfdRuntimeEnable{.mode_mask = 0}), 0);
  acquire();
  EXPECT_EQ(call(KfdRuntimeEnable{.mode_mask = 1}), 0);
  EXPECT_EQ(checks().count(kRuntimeOrder), 2u);
  EXPECT_EQ(call(KfdSetXnackMode{.xnack_enabled = 1}), EPERM);
  EXPECT_EQ(call(KfdSetXnackMode{.xnack_enabled = -1}), 0);
}

TEST(Machine, TellsWhatAProcessLeft) {
  std::vector<std::string> told;
  auto machine = std::move(*Machine::create({.checks = "warn", .report = [&](const Report& report) {
                                               told.push_back(to_string(report));
                                             }}));
  auto files = machine->files(os::host_files());
  auto kfd = std::move(*files->open("/dev/kfd", os::Access::ReadWrite));
  machine->kfd().devices()[0]->acquired = true;
  KfdAllocMemory memory{.va_addr = 0x7e00'0000'0000,
                        .size = 4096,
                        .gpu_id = machine->kfd().devices()[0]->slot.gpu_id(),
                        .flags = kKfdMemVram};
  ASSERT_TRUE(kfd->ioctl(kRequest<KfdAllocMemory>, &memory));
  kfd.reset();
  files.reset();
  machine.reset();
  EXPECT_EQ(told, std::vector<std::string>{
                      "warn AMD-QUE-005: the process ends with 0 queues and 1 buffers"});
}

TEST(Checks, AreAllInTheListUnderNamesOfTheirOwn) {
  std::set<std::string> ids;
  for (const Check* check : all_checks()) {
    EXPECT_TRUE(ids.insert(check->id).second) << check->id;
    EXPECT_NE(std::string(check->cites), "") << check->id;
  }
  const char* root = std::getenv("DOORBELL_SOURCE_ROOT");
  if (!root) GTEST_SKIP() << "no DOORBELL_SOURCE_ROOT";
  usize defined = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::string(root) + "/emulator/amd")) {
    const std::string extension = entry.path().extension();
    if (extension != ".h" && extension != ".def") continue;
    std::string text = *os::read_text(os::host_files(), entry.path().string());
    for (const char* definition : {"constexpr Check k", "\nDOORBELL_RULE(k"})
      for (usize at = 0; (at = text.find(definition, at)) != text.npos; ++at) ++defined;
  }
  EXPECT_EQ(ids.size(), defined) << "emulator/amd/all_checks.cc";
}

TEST(Machine, NamesWhatItDoesNotKnow) {
  Result<std::unique_ptr<Machine>> machine = Machine::create({.gpus = {"gfx803"}});
  ASSERT_FALSE(machine);
  EXPECT_NE(machine.error().message.find("gfx803"), std::string::npos);
  EXPECT_NE(machine.error().message.find("gfx1030, gfx1100"), std::string::npos);
  EXPECT_FALSE(Machine::create({.gpus = {}}));
  EXPECT_FALSE(Machine::create({.checks = "sometimes"}));
}

TEST(Machine, IsDescribedInWords) {
  EXPECT_EQ(*parse_gpus("gfx1100,gfx942"), (std::vector<std::string>{"gfx1100", "gfx942"}));
  EXPECT_EQ(*parse_number("seed", "18446744073709551615"), ~u64{0});
  for (const char* wrong : {"", ",", "gfx1100,", ",gfx1100", "gfx1100,,gfx942"})
    EXPECT_FALSE(parse_gpus(wrong)) << wrong;
  EXPECT_EQ(parse_gpus("gfx1100,").error().message,
            "GPU 2 of \"gfx1100,\" has no name; expected a list as in \"gfx1100,gfx1100\"");
  for (const char* wrong : {"", "abc", "-1", "1.5", "7 ", "0x7"})
    EXPECT_EQ(parse_number("seed", wrong).error().message,
              fmt::format("seed {:?} is no number", wrong));
  EXPECT_EQ(parse_number("seed", "18446744073709551616").error().message,
            "seed \"18446744073709551616\" is not below 2^64");
  EXPECT_EQ(*parse_number("seed", "", 7), 7u);
  EXPECT_EQ(*parse_number("seed", "5", 7), 5u);
  EXPECT_FALSE(parse_number("seed", "five", 7));
}

TEST(Machine, TracesIoctls) {
  std::string lines;
  auto machine = std::move(
      *Machine::create({.checks = "warn", .trace = [&](std::string_view line) { lines += line; }}));
  auto files = machine->files(os::host_files());
  auto kfd = std::move(*files->open("/dev/kfd", os::Access::ReadWrite));
  KfdAllocMemory wrong{.size = 4096, .gpu_id = 5};
  EXPECT_FALSE(kfd->ioctl(kRequest<KfdAllocMemory>, &wrong));
  EXPECT_NE(lines.find("check"), std::string::npos) << lines;
  EXPECT_NE(lines.find("ALLOC_MEMORY_OF_GPU va_addr=0 size=0x1000"), std::string::npos) << lines;
  EXPECT_NE(lines.find("-> -22 (Invalid argument)"), std::string::npos) << lines;
}

}  // namespace
}  // namespace doorbell::emu::amdgpu::testing
