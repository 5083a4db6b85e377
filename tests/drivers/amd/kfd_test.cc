// The calls of /dev/kfd, one by one, and the errors that its failures become.
#include "drivers/amd/kernel/kfd.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "base/util/try.h"
#include "drivers/amd/kernel/kfd_events.h"
#include "drivers/amd/kernel/kfd_queue.h"
#include "drivers/amd/kernel/shared_memory.h"
#include "tests/drivers/amd/fake_kfd.h"

namespace doorbell::amd {
namespace {

using testing::FakeKfd;

std::string create_queue_error(os::Files& files) {
  Result<std::unique_ptr<Kfd>> kfd = Kfd::open(files);
  return kfd ? "opened" : kfd.error().message;
}

TEST(KfdTest, SaysWhatToDoWhereItCannotBeOpened) {
  FakeKfd fake;
  fake.files.read_only.insert("/dev/kfd");
  EXPECT_NE(create_queue_error(fake).find("usermod -aG render,video"), std::string::npos);
  EXPECT_EQ(Kfd::open(fake).error().kind, ErrorKind::Permission);
  fake.files.read_only.clear();
  fake.minor = 10;
  EXPECT_EQ(create_queue_error(fake),
            "/dev/kfd has interface 1.10, expected 1.11 or later: Linux 6.1 has it, as has AMD's "
            "amdgpu-dkms for older kernels");
  fake.major = 2;
  EXPECT_EQ(Kfd::open(fake).error().kind, ErrorKind::Unsupported);
  fake.files.files.erase("/dev/kfd");
  EXPECT_EQ(Kfd::open(fake).error().kind, ErrorKind::NotFound);
  EXPECT_NE(create_queue_error(fake).find("modprobe amdgpu"), std::string::npos);
}

struct OpenTest : ::testing::Test {
  FakeKfd fake;
  testing::FakeClock clock;
  std::unique_ptr<Kfd> kfd = *Kfd::open(fake, clock);
};

// Debian 12's kernel has 1.11: neither RUNTIME_ENABLE (1.13) nor EXPORT_DMABUF (1.12).
// [kfd_ioctl.h]
TEST(KfdTest, AsksAnOlderKernelForNothingThatItHasNot) {
  FakeKfd fake;
  fake.minor = 11;
  auto kfd = Kfd::open(fake);
  ASSERT_TRUE(kfd) << kfd.error().message;
  KfdGpu& gpu = **(*kfd)->gpu(0);
  auto memory = *gpu.allocate({.bytes = 1 << 16});
  Result<int> exported = memory->export_dmabuf();
  ASSERT_FALSE(exported);
  EXPECT_EQ(exported.error().kind, ErrorKind::Unsupported);
  EXPECT_EQ(exported.error().message,
            "the kernel driver has interface 1.11, sharing memory as a dma-buf needs 1.12");
  EXPECT_TRUE(fake.calls_of("EXPORT_DMABUF").empty());
  EXPECT_TRUE(fake.calls_of("RUNTIME_ENABLE").empty());
}

TEST_F(OpenTest, BindsTheRenderNodeAndItsEvents) {
  // Only listing devices changes nothing.
  EXPECT_EQ(fake.calls.size(), 1u);
  ASSERT_TRUE(kfd->gpu(0));
  // Of the process, when it has an address space and before anything else.
  ASSERT_GE(fake.calls.size(), 3u);
  EXPECT_EQ(fake.calls[1], "ACQUIRE_VM drm_fd=0x8 gpu_id=0x4d5a");
  // As tinygrad has it (ops_amd.py, KFDIface).
  EXPECT_EQ(fake.calls[2], "RUNTIME_ENABLE r_debug=0x0 mode_mask=0x0 capabilities_mask=0x0");
  EXPECT_EQ(fake.calls_of("RUNTIME_ENABLE").size(), 1u);
  EXPECT_EQ(fake.calls_of("ACQUIRE_VM"),
            std::vector<std::string>{"ACQUIRE_VM drm_fd=0x8 gpu_id=0x4d5a"});
  // The page of 4096 mailboxes comes with the first event; then memory faults (8) and hangs (3).
  const std::vector<std::string> events = fake.calls_of("CREATE_EVENT");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0],
            "CREATE_EVENT event_page_offset=0x1 event_trigger_data=0x0 event_type=0x8 "
            "auto_reset=0x1 node_id=0x0 event_id=0x0 event_slot_index=0x0");
  EXPECT_NE(events[1].find("event_page_offset=0x0 event_trigger_data=0x0 event_type=0x3"),
            std::string::npos);
  EXPECT_EQ(fake.memory.at(1).arguments.size, 32768u);
  // Opened once.
  EXPECT_EQ(*kfd->gpu(0), *kfd->gpu(0));
  EXPECT_EQ(fake.calls_of("ACQUIRE_VM").size(), 1u);
}

TEST_F(OpenTest, SaysThatTheRenderNodeMayNotBeOpened) {
  fake.files.read_only.insert("/dev/dri/renderD128");
  Result<KfdGpu*> gpu = kfd->gpu(0);
  ASSERT_FALSE(gpu);
  EXPECT_EQ(gpu.error().kind, ErrorKind::Permission);
  EXPECT_NE(gpu.error().message.find("group render"), std::string::npos);
}

// KFD_RUNTIME_ENABLE_MODE_ENABLE_MASK | KFD_RUNTIME_ENABLE_MODE_TTMP_SAVE_MASK
TEST_F(OpenTest, AsksForTrapRegistersOnlyWhereTheyAreWanted) {
  ASSERT_TRUE(kfd->gpu(0));
  EXPECT_FALSE(kfd->has_trap_registers());
  fake.calls.clear();
  const std::unique_ptr<Kfd> second = *Kfd::open(fake, clock, {.trap_registers = true});
  ASSERT_TRUE(second->gpu(0));
  EXPECT_TRUE(second->has_trap_registers());
  EXPECT_EQ(
      fake.calls_of("RUNTIME_ENABLE"),
      std::vector<std::string>{"RUNTIME_ENABLE r_debug=0x0 mode_mask=0x3 capabilities_mask=0x0"});
}

// The kernel counts these in PAGE_SIZE, whatever a GPU's page size: buffers, their places, a
// queue's pointers and doorbells. [Linux amdgpu_vm.c amdgpu_vm_verify_parameters(); kfd_queue.c
// kfd_queue_acquire_buffers(); kfd_doorbell.c kfd_doorbell_process_slice()]
TEST_F(OpenTest, CountsInPagesOfTheHost) {
  for (const u64 page : {u64{4096}, u64{16384}, u64{65536}}) {
    FakeKfd host;
    const std::unique_ptr<Kfd> opened = *Kfd::open(host, clock, {.page_bytes = page});
    KfdGpu& gpu = **opened->gpu(0);
    const auto first = *gpu.allocate({.bytes = 100}), second = *gpu.allocate({.bytes = 4097});
    EXPECT_EQ(first->bytes(), page);
    EXPECT_EQ(second->bytes(), page == 4096 ? 8192 : page);
    EXPECT_EQ(second->address() % page, 0u);
    const auto queue = KfdQueue::make(gpu, *find_caps(110000), QueueType::Pm4, u64{1} << 20);
    ASSERT_TRUE(queue) << queue.error().message;
    const hw::KfdCreateQueue& made = host.queues.at(1).arguments;
    for (const auto& [handle, memory] : host.memory) {
      EXPECT_EQ(memory.arguments.va_addr % page, 0u);
      EXPECT_EQ(memory.arguments.size % page, 0u);
      if (made.write_pointer_address - memory.arguments.va_addr < memory.arguments.size) {
        EXPECT_EQ(memory.arguments.size, page) << "expected_size PAGE_SIZE";
      }
    }
    EXPECT_EQ(made.ctl_stack_size % page, 0u);
    EXPECT_EQ(host.doorbell_bytes, std::max<u64>(8192, page));
    if (page > 4096) {
      std::vector<u8> user(2 * page);
      u8* const at = user.data() + page - reinterpret_cast<u64>(user.data()) % page + 4096;
      EXPECT_EQ(gpu.allocate({.bytes = 1, .kind = MemoryKind::User, .user = at}).error().kind,
                ErrorKind::Invalid);
    }
  }
}

TEST_F(OpenTest, GoesOnWhereTheRuntimeIsNotEnabled) {
  fake.fail["RUNTIME_ENABLE"] = EBUSY;
  EXPECT_TRUE(kfd->gpu(0));
}

TEST_F(OpenTest, AsksAgainWhereTheKernelSaysLater) {
  fake.later["ACQUIRE_VM"] = 3;
  ASSERT_TRUE(kfd->gpu(0));
  EXPECT_EQ(fake.calls_of("ACQUIRE_VM").size(), 4u);
  EXPECT_EQ(clock.time_ns, 3'000'000u) << "a millisecond between two tries";
  fake.later["ALLOC_MEMORY_OF_GPU"] = 1'000'000;
  Result<std::unique_ptr<KfdMemory>> memory = (*kfd->gpu(0))->allocate({.bytes = 1});
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().os_errno, EAGAIN);
}

// The kernel takes no other opening of the render node.
TEST_F(OpenTest, KeepsTheAddressSpaceWhereWhatFollowsFails) {
  fake.fail["CREATE_EVENT"] = ENOMEM;
  EXPECT_FALSE(kfd->gpu(0));
  fake.fail["ALLOC_MEMORY_OF_GPU"] = ENOMEM;
  ASSERT_TRUE(kfd->gpu(0)) << "the event page was there already";
  EXPECT_EQ(fake.calls_of("ACQUIRE_VM").size(), 1u);
  EXPECT_EQ(fake.calls_of("MAP_MEMORY_TO_GPU").size(), 1u);
}

struct GpuTest : OpenTest {
  KfdGpu& gpu = **kfd->gpu(0);
};

TEST_F(GpuTest, AllocatesEachKindWithItsFlags) {
  // [linux/kfd_ioctl.h KFD_IOC_ALLOC_MEM_FLAGS_*]
  constexpr u32 kWritable = 1u << 31, kExecutable = 1 << 30, kPublic = 1 << 29,
                kNoSubstitute = 1 << 28, kCoherent = 1 << 26, kUncached = 1 << 25;
  const auto flags = [&](MemoryRequest request) {
    request.bytes = 100;
    auto memory = gpu.allocate(request);
    EXPECT_TRUE(memory) << memory.error().message;
    const FakeKfd::Memory& made = fake.memory.at((*memory)->handle());
    EXPECT_EQ(made.arguments.size, 4096u);
    EXPECT_EQ(made.arguments.va_addr, (*memory)->address());
    return made.arguments.flags;
  };
  EXPECT_EQ(flags({.kind = MemoryKind::Vram}), 1 | kWritable | kNoSubstitute);
  EXPECT_EQ(flags({.kind = MemoryKind::Vram, .executable = true}),
            1 | kWritable | kNoSubstitute | kExecutable);
  EXPECT_EQ(flags({.kind = MemoryKind::VisibleVram}), 1 | kWritable | kNoSubstitute | kPublic);
  EXPECT_EQ(flags({.kind = MemoryKind::Host}),
            2 | kWritable | kNoSubstitute | kPublic | kCoherent | kUncached);
  alignas(4096) static u8 page[4096];
  EXPECT_EQ(flags({.kind = MemoryKind::User, .user = page}),
            4 | kWritable | kNoSubstitute | kPublic | kCoherent);

  // Another coherence than the kind's takes its place, whatever the kind.
  constexpr u32 kHost = 2 | kWritable | kNoSubstitute | kPublic,
                kUser = 4 | kWritable | kNoSubstitute | kPublic,
                kVisible = 1 | kWritable | kNoSubstitute | kPublic,
                kVram = 1 | kWritable | kNoSubstitute;
  const auto expect_all = [&](Coherence coherence, u32 expected) {
    EXPECT_EQ(flags({.kind = MemoryKind::Vram, .coherence = coherence}), kVram | expected);
    EXPECT_EQ(flags({.kind = MemoryKind::VisibleVram, .coherence = coherence}),
              kVisible | expected);
    EXPECT_EQ(flags({.kind = MemoryKind::Host, .coherence = coherence}), kHost | expected);
    EXPECT_EQ(flags({.kind = MemoryKind::User, .coherence = coherence, .user = page}),
              kUser | expected);
  };
  expect_all(Coherence::Cached, 0);
  expect_all(Coherence::Coherent, kCoherent);
  expect_all(Coherence::Uncached, kCoherent | kUncached);
}

struct ExtCoherentTest : ::testing::Test {
  // What becomes of a request on such a machine.
  Result<u32> allocate(u64 target, u32 minor) {
    fake.set_property("gfx_target_version", target);
    fake.minor = minor;
    const std::unique_ptr<Kfd> kfd = *Kfd::open(fake);
    KfdGpu& gpu = **kfd->gpu(0);
    fake.calls.clear();
    TRY(const std::unique_ptr<KfdMemory> memory,
        gpu.allocate(
            {.bytes = 100, .coherence = Coherence::ExtCoherent, .what = "what atomics are on"}));
    return fake.memory.at(memory->handle()).arguments.flags;
  }
  FakeKfd fake;
};

TEST_F(ExtCoherentTest, HasItsFlagWhereChipAndKernelHaveIt) {
  // VRAM, writable, without substitute; COHERENT and EXT_COHERENT. [linux/kfd_ioctl.h]
  EXPECT_EQ(*allocate(90402, 17), 0x9500'0001u);
  EXPECT_EQ(*allocate(90500, 15), 0x9500'0001u);
}

TEST_F(ExtCoherentTest, IsRefusedByChipsWithoutIt) {
  const Result<u32> refused = allocate(110000, 17);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::Unsupported);
  EXPECT_EQ(
      refused.error().message,
      "what atomics are on cannot have extended coherence on GPU 19802: it is a gfx1100, only "
      "gfx942 and gfx950 have it");
  EXPECT_TRUE(fake.calls_of("ALLOC_MEMORY_OF_GPU").empty()) << "the kernel would not tell";
}

TEST_F(ExtCoherentTest, IsRefusedWhereTheKernelMayNotKnowIt) {
  const Result<u32> refused = allocate(90402, 14);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::Unsupported);
  EXPECT_EQ(refused.error().message,
            "the kernel driver has interface 1.14, extended coherence of what atomics are on "
            "needs 1.15");
  EXPECT_TRUE(fake.calls_of("ALLOC_MEMORY_OF_GPU").empty());
}

TEST_F(GpuTest, TakesAUserAddressForUserMemoryOnly) {
  alignas(4096) static u8 page[8192];
  fake.calls.clear();
  const auto message = [&](const MemoryRequest& request) {
    const auto refused = gpu.allocate(request);
    EXPECT_FALSE(refused);
    if (refused) return std::string();
    EXPECT_EQ(refused.error().kind, ErrorKind::Invalid);
    return refused.error().message;
  };
  EXPECT_EQ(message({.bytes = 1, .kind = MemoryKind::User, .what = "a file"}),
            "user memory of a file at address 0x0 of the process");
  EXPECT_EQ(message({.bytes = 1, .kind = MemoryKind::VisibleVram, .user = page, .what = "a file"}),
            fmt::format("memory that is no user memory of a file at address {:#x} of the process",
                        reinterpret_cast<u64>(page)));
  EXPECT_EQ(message({.bytes = 1, .kind = MemoryKind::User, .user = page + 8, .what = "a file"}),
            fmt::format("a file at {:#x} is not aligned to pages of 4096 bytes",
                        reinterpret_cast<u64>(page + 8)));
  EXPECT_TRUE(fake.calls.empty());
}

TEST_F(GpuTest, MapsAndFreesInOrder) {
  fake.calls.clear();
  auto memory = *gpu.allocate({.bytes = 5000, .kind = MemoryKind::Host, .what = "a test"});
  ASSERT_NE(memory->host(), nullptr);
  EXPECT_EQ(memory->bytes(), 8192u);
  const u64 address = memory->address();
  EXPECT_EQ(fake.at(address + 4), memory->host() + 4);
  EXPECT_EQ(kfd->address_map().describe(address + 16),
            fmt::format("in a test ({:#x}, 8192 bytes), 16 bytes in", address));
  memory.reset();
  ASSERT_EQ(fake.calls.size(), 4u);
  const char* names[] = {"ALLOC_MEMORY_OF_GPU", "MAP_MEMORY_TO_GPU", "UNMAP_MEMORY_FROM_GPU",
                         "FREE_MEMORY_OF_GPU"};
  for (usize i = 0; i < 4; ++i) EXPECT_TRUE(fake.calls[i].starts_with(names[i])) << fake.calls[i];
  EXPECT_EQ(kfd->address_map().describe(address + 16),
            fmt::format("in what was a test ({:#x}, 8192 bytes), 16 bytes in", address));
  // The address is free again.
  EXPECT_EQ((*gpu.allocate({.bytes = 1}))->address(), address);
}

TEST_F(GpuTest, TellsLackOfMemoryFromOtherRefusals) {
  fake.fail["ALLOC_MEMORY_OF_GPU"] = ENOMEM;
  EXPECT_EQ(gpu.allocate({.bytes = 1 << 20, .what = "a buffer"}).error().message,
            "GPU 19802 has no memory for 1048576 bytes of a buffer");
  fake.fail["ALLOC_MEMORY_OF_GPU"] = EINVAL;
  Result<std::unique_ptr<KfdMemory>> refused =
      gpu.allocate({.bytes = 1, .kind = MemoryKind::VisibleVram});
  EXPECT_NE(refused.error().message.find("resizable BAR"), std::string::npos);
  fake.fail["MAP_MEMORY_TO_GPU"] = EINVAL;
  refused = gpu.allocate({.bytes = 1});
  ASSERT_FALSE(refused);
  // The error has the arguments of the call.
  EXPECT_NE(refused.error().message.find("MAP_MEMORY_TO_GPU is refused"), std::string::npos);
  EXPECT_NE(refused.error().message.find("n_devices=0x1"), std::string::npos);
}

TEST_F(GpuTest, MakesQueuesOfTheSizesThatTheKernelChecks) {
  const Caps& caps = *find_caps(110000);
  auto queue = *KfdQueue::make(gpu, caps, QueueType::Pm4, 1 << 16);
  const hw::KfdCreateQueue& arguments = fake.queues.at(queue->id()).arguments;
  EXPECT_EQ(arguments.queue_type, 0u);
  EXPECT_EQ(arguments.ring_size, 65536u);
  EXPECT_EQ(arguments.queue_percentage, 100u);
  EXPECT_EQ(arguments.eop_buffer_size, 4096u);
  EXPECT_EQ(arguments.ctl_stack_size, 40960u);
  EXPECT_EQ(arguments.ctx_save_restore_size, 40960u + 96u * 0x75000u);
  // The pointers' page is theirs alone, and each buffer is mapped whole.
  const auto size_at = [&](u64 address) {
    for (const auto& [handle, one] : fake.memory)
      if (one.arguments.va_addr == address) return one.arguments.size;
    return u64{0};
  };
  EXPECT_EQ(size_at(arguments.write_pointer_address / 4096 * 4096), 4096u);
  EXPECT_EQ(arguments.write_pointer_address / 4096, arguments.read_pointer_address / 4096);
  EXPECT_EQ(size_at(arguments.ring_base_address), 65536u);
  EXPECT_EQ(size_at(arguments.eop_buffer_address), 4096u);
  EXPECT_EQ(size_at(arguments.ctx_save_restore_address), 40960u + 96u * 0x75000u + 3072u * 32u);

  queue->ring_doorbell(12, 11);
  EXPECT_EQ(fake.queues.at(queue->id()).doorbell, 11u);
  EXPECT_EQ(fake.cell(arguments.write_pointer_address), 12u);
  fake.cell(arguments.read_pointer_address) = 7;
  EXPECT_EQ(queue->read_pointer(), 7u);
  ASSERT_TRUE(queue->stop());
  EXPECT_NE(fake.calls.back().find("queue_percentage=0x0"), std::string::npos);
  queue.reset();
  EXPECT_EQ(fake.calls_of("DESTROY_QUEUE").size(), 1u);

  auto copies = *KfdQueue::make(gpu, caps, QueueType::Sdma, 1 << 16);
  EXPECT_EQ(fake.queues.at(copies->id()).arguments.queue_type, 1u);
  EXPECT_EQ(fake.queues.at(copies->id()).arguments.eop_buffer_address, 0u);
}

TEST_F(GpuTest, WakesWhoeverWaitsAndTellsFaults) {
  struct Ear final : KfdEvents::Listener {
    std::vector<u64> heard;
    void on_memory_exception(const hw::KfdMemoryException& exception) override {
      heard.push_back(exception.va);
    }
    void on_hw_exception(const hw::KfdHwException&) override { heard.push_back(0); }
  } ear, other;
  KfdEvents& events = kfd->events();
  events.add_listener(FakeKfd::kGpuId, ear);
  events.add_listener(FakeKfd::kGpuId + 1, other);
  const KfdEvents::Interrupt interrupt = *events.make_interrupt();
  // Mailboxes are 8 bytes each, in the order of events.
  EXPECT_EQ(interrupt.mailbox, fake.memory.at(1).arguments.va_addr + interrupt.event_id * 8);
  const hcq::Signal signal = *kfd->signals().make();
  ASSERT_TRUE(events.block(signal, 0, 2'000'000));
  EXPECT_NE(fake.calls.back().find("num_events=0x3 wait_for_all=0x0 timeout=0x2"),
            std::string::npos)
      << fake.calls.back();
  const usize calls = fake.calls.size();
  ASSERT_TRUE(events.block(signal, 1, 2'000'000));  // it has changed already
  EXPECT_EQ(fake.calls.size(), calls);
  for (const auto& [id, type] : fake.event_types) {
    if (type != hw::kKfdEventMemory) continue;
    hw::KfdEventData data;
    data.memory_exception.va = 0x1234;
    data.memory_exception.gpu_id = FakeKfd::kGpuId;
    fake.events[id] = data;
  }
  ASSERT_TRUE(events.look());
  EXPECT_EQ(ear.heard, std::vector<u64>{0x1234});
  EXPECT_TRUE(other.heard.empty());
  events.remove_listener(ear);
  events.remove_listener(other);
}

// Only signals and a kernel that is busy are a reason to wait again.
TEST_F(GpuTest, SaysWhyTheKernelDoesNotWait) {
  KfdEvents& events = kfd->events();
  const KfdEvents::Interrupt interrupt = *events.make_interrupt();
  const hcq::Signal signal = *kfd->signals().make();
  fake.fail["WAIT_EVENTS"] = EINTR;
  EXPECT_TRUE(events.block(signal, 0, 1'000'000));
  fake.fail["WAIT_EVENTS"] = EINVAL;
  const Result<void> refused = events.block(signal, 0, 1'000'000);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().os_errno, EINVAL);
  EXPECT_TRUE(refused.error().message.starts_with("WAIT_EVENTS is refused: "))
      << refused.error().message;
  EXPECT_TRUE(refused.error().message.ends_with(
      fmt::format("; of events {}, {}, {}", interrupt.event_id - 2, interrupt.event_id - 1,
                  interrupt.event_id)))
      << refused.error().message;
  // An event that another thread released meanwhile is no error.
  const KfdEvents::Interrupt other = *events.make_interrupt();
  fake.fail["WAIT_EVENTS"] = EIO;
  fake.meanwhile["WAIT_EVENTS"] = [&] { events.release_interrupt(other); };
  EXPECT_TRUE(events.block(signal, 0, 1'000'000));
}

TEST_F(GpuTest, SharesMemoryAsDmaBuffers) {
  auto memory = *gpu.allocate({.bytes = 1 << 16});
  ASSERT_TRUE(memory->export_dmabuf());
  EXPECT_TRUE(fake.calls.back().starts_with("EXPORT_DMABUF handle=0x")) << fake.calls.back();
  auto imported = gpu.import_dmabuf(5, "somebody's frame");
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_EQ((*imported)->bytes(), 8192u);
  EXPECT_NE(fake.calls_of("IMPORT_DMABUF")[0].find("dmabuf_fd=0x5"), std::string::npos);
}

}  // namespace
}  // namespace doorbell::amd
