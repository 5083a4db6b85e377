// A device on a /dev/kfd of the test: what lies in its rings and what its doorbells are rung with.
#include "drivers/amd/device.h"

#include "drivers/amd/hw/pm4/release.h"
#include "drivers/amd/pm4_commands.h"
#include "drivers/amd/program.h"
#include "hcq/queue/resident_commands.h"
#include "tests/drivers/amd/test_device.h"

namespace doorbell::amd {
namespace {

TEST_F(DeviceTest, CopiesThroughItsCopyQueue) {
  AmdDevice& amd = open();
  EXPECT_EQ(amd.description(), "gfx1100, 96 compute units, 0.0 GiB free, PM4 and SDMA queues");
  std::vector<u32> in(100'000), out(100'000);
  for (usize i = 0; i < in.size(); ++i) in[i] = static_cast<u32>(i * 2654435761u);
  core::Ref<Buffer> a = *Buffer::allocate(amd, 400'000), b = *Buffer::allocate(amd, 400'000);
  EXPECT_EQ(a->host(), nullptr);
  ASSERT_TRUE(a->copy_in(in.data(), 400'000));
  ASSERT_TRUE(core::copy_between(*b, 4, *a, 0, 399'996));
  ASSERT_TRUE(b->copy_out(out.data(), 400'000));
  EXPECT_EQ(Words(out.begin() + 1, out.end()), Words(in.begin(), in.end() - 1));
}

// Words of tinygrad (runtime/ops_amd.py at 2026-08, AMDCopyQueue for SDMA 6.0: copy, signal, wait,
// timestamp) for the same operations, with the addresses put in.
TEST_F(DeviceTest, WritesTheCopyPacketsThatTinygradDoes) {
  AmdDevice& amd = open();
  hcq::Queue& queue = amd.copy_queue();
  auto commands = queue.make_commands();
  commands->copy(u64{0x200000002000}, u64{0x200000001000}, 256);
  EXPECT_EQ(Words(commands->words().begin(), commands->words().end()),
            (Words{0x1, 255, 0, 0x1000, 0x2000, 0x2000, 0x2000}));
  commands->clear();
  commands->signal(u64{0x200000003000}, 9);
  commands->wait(u64{0x200000003040}, 5);
  commands->timestamp(u64{0x200000003008});
  EXPECT_EQ(Words(commands->words().begin(), commands->words().end()),
            (Words{0x30005, 0x3000, 0x2000, 9,                             //
                   0xd0000008, 0x3040, 0x2000, 5, 0xffffffff, 0x0fff0004,  //
                   0x20d, 0x3008, 0x2000}));
  // Copies beyond what one packet takes go in several, of slots too.
  commands->clear();
  commands->copy(hcq::Operand::of_slot(0), u64{0x10000}, (u64{1} << 30) + 8);
  ASSERT_EQ(commands->words().size(), 14u);
  EXPECT_EQ(commands->words()[1], 0x3fffffffu);
  EXPECT_EQ(commands->words()[8], 7u);
  ASSERT_EQ(commands->patches().size(), 2u);
  EXPECT_EQ(commands->patches()[1].word, 12u);
  EXPECT_EQ(commands->patches()[1].addend, u64{1} << 30);
}

// The same from AMDComputeQueue for gfx11: wait, and the release of a signal, whose cache bits are
// ours (L2 written back, not invalidated) and whose data is 64 bits.
TEST_F(DeviceTest, WritesThePm4PacketsThatTinygradDoes) {
  AmdDevice& amd = open();
  auto commands = amd.compute_queue().make_commands();
  commands->wait(u64{0x200000003040}, 5);
  Words words(commands->words().begin(), commands->words().end());
  EXPECT_EQ(slice(words, 0, 7), (Words{0xc0053c00, 0x15, 0x3040, 0x2000, 5, 0xffffffff, 4}));
  EXPECT_EQ(slice(words, 7, 8), (Words{0xc0065800, 0, 0xffffffff, 0xffffff, 0, 0, 0, 0xc3f0}));
  commands->clear();
  commands->signal(u64{0x200000003000}, u64{0x1'0000'0009});
  words.assign(commands->words().begin(), commands->words().end());
  ASSERT_EQ(words.size(), 8u);
  EXPECT_EQ(words[0], 0xc0064900u);
  EXPECT_EQ(words[1] & 0xfff, 0x514u);  // CACHE_FLUSH_AND_INV_TS, end of pipe
  EXPECT_EQ(words[2], 2u << 29);        // 64 bits of data, no interrupt
  EXPECT_EQ(slice(words, 3, 5), (Words{0x3000, 0x2000, 9, 1, 0}));
  commands->clear();
  commands->memory_barrier();
  words.assign(commands->words().begin(), commands->words().end());
  EXPECT_EQ(slice(words, 0, 2), (Words{0xc0004600, 0x407}));
  EXPECT_EQ(words[9], 0xc3f0u);  // the first: whatever came from outside
  commands->memory_barrier();
  EXPECT_EQ(commands->words()[19], 0x3c0u);  // then: what was done here, behind the L2
}

// What the command processor writes lies in the L2 up to gfx11, behind it on gfx12: there the L2 is
// emptied before, and again by the barrier behind it. GCR_CNTL as above. [Mesa ac_gpu_info.h
// cp_sdma_ge_use_system_memory_scope]
TEST_F(DeviceTest, ProcessorsThatPassTheL2ByMeetIt) {
  AmdDevice& amd = open();
  for (const bool gfx12 : {false, true}) {
    Pm4Commands commands(amd, *find_caps(gfx12 ? 120001 : 110000), 1);
    commands.memory_barrier();
    commands.write(u64{0x200000003000}, 7);
    commands.memory_barrier();
    commands.memory_barrier();
    Words controls;
    constexpr u32 kAcquireMem = 0xc0065800, kControl = 7;
    for (usize i = 0; i < commands.words().size(); ++i)
      if (commands.words()[i] == kAcquireMem) controls.push_back(commands.words()[i + kControl]);
    EXPECT_EQ(controls,
              gfx12 ? (Words{0xc3f0, 0xc3f0, 0xc3f0, 0x3c0}) : (Words{0xc3f0, 0x3c0, 0x3c0}));
  }
}

TEST_F(DeviceTest, LaunchesAKernel) {
  AmdDevice& amd = open();
  Result<std::unique_ptr<core::Program>> loaded = amd.load(compiled_kernel("gfx1100", 3));
  ASSERT_TRUE(loaded) << loaded.error().message;
  core::Ref<Buffer> a = *Buffer::allocate(amd, 384), b = *Buffer::allocate(amd, 384);
  const core::BufferView views[] = {{a.get(), 0}, {b.get(), 64}};
  ASSERT_TRUE((*loaded)->launch(views, {}));
  const FakeKfd::Queue& queue = fake.queues.at(kCompute);
  EXPECT_EQ(queue.rings, 1u);
  EXPECT_EQ(fake.cell(queue.arguments.write_pointer_address), queue.doorbell);
  const Words words = fake.take_words(kCompute);
  // DISPATCH_DIRECT of 3 groups; waves of 32, from group 0 on.
  const Words dispatch = {0xc0031500, 3, 1, 1, 0x8005};
  const auto at = std::search(words.begin(), words.end(), dispatch.begin(), dispatch.end());
  ASSERT_NE(at, words.end());
  // Fresh code: caches of instructions are dropped first.
  EXPECT_EQ(words[7] & 3, 1u);
  // COMPUTE_PGM_LO and HI: the code, of which the object's first word was copied there.
  const Words program = {0xc0027600, 0x20c};
  const auto code = std::search(words.begin(), at, program.begin(), program.end());
  ASSERT_NE(code, at);
  const u64 entry = (u64{code[3]} << 32 | code[2]) << 8;
  u32 first = 0;
  std::memcpy(&first, compiled_kernel("gfx1100", 3).image.data() + 0x100, 4);
  EXPECT_EQ(*reinterpret_cast<u32*>(fake.at(entry)), first);
  // NUM_THREAD x, y, z.
  const Words threads = {0xc0037600, 0x207, 32, 1, 1};
  EXPECT_NE(std::search(words.begin(), at, threads.begin(), threads.end()), at);
  // COMPUTE_USER_DATA_0 and 1: where the arguments lie.
  const auto user = std::find(words.begin(), at, 0x240u);
  ASSERT_NE(user, at);
  const u64 arguments = u64{user[2]} << 32 | user[1];
  EXPECT_EQ(fake.cell(arguments), a->memory().address);
  EXPECT_EQ(fake.cell(arguments + 8), b->memory().address + 64);
  // Behind it the timeline's signal, then the kernel's event with an interrupt.
  const hcq::Timeline::SignalValue end = amd.compute_queue().timeline().signal_at(1);
  const Words tail = slice(words, words.size() - 16, 16);
  EXPECT_EQ(slice(tail, 3, 4), (Words{low(end.signal.address().value),
                                      high(end.signal.address().value), low(end.value), 0}));
  EXPECT_EQ(tail[10], 1u << 29 | 2u << 24);  // 32 bits of data, interrupt when written
  const u32 event = tail[13];
  EXPECT_EQ(fake.event_types.at(event), hw::kKfdEventSignal);
  EXPECT_EQ(tail[15], event);
  EXPECT_EQ(tail[11], low(fake.memory.at(1).arguments.va_addr + event * 8));
  finish(amd.compute_queue());
  EXPECT_TRUE(amd.synchronize());
}

// What is launched there has a grid of its own, so that it can be told apart.
TEST_F(DeviceTest, LaunchesTheFormForUnalignedBuffers) {
  AmdDevice& amd = open();
  core::Binary binary = compiled_kernel("gfx1100", 3);
  int compiled = 0;
  binary.param_alignment = 16;
  binary.unaligned = [&]() -> Result<core::Binary> {
    ++compiled;
    return compiled_kernel("gfx1100", 5);
  };
  auto program = *amd.load(binary);
  const core::Ref<Buffer> a = *Buffer::allocate(amd, 384), b = *Buffer::allocate(amd, 384);
  const auto groups = [](std::span<const u32> words) {
    constexpr u32 kDispatchDirect = 0xc0031500;
    return std::find(words.begin(), words.end(), kDispatchDirect)[1];
  };
  const auto launched = [&](i64 offset) {
    const core::BufferView views[] = {{a.get(), 0}, {b.get(), offset}};
    EXPECT_TRUE(program->launch(views, {}));
    return groups(fake.take_words(kCompute));
  };
  EXPECT_EQ(launched(64), 3u);
  EXPECT_EQ(compiled, 0);
  EXPECT_EQ(launched(68), 5u);
  EXPECT_EQ(launched(4), 5u);
  // The memory that a slot stands for is aligned; the offset in it need not be.
  const auto recorded = [&](u64 offset) {
    const auto commands = amd.compute_queue().make_commands();
    const hcq::Operand buffers[] = {u64{0x5000}, hcq::Operand::of_slot(0) + offset};
    commands->exec({program.get(), buffers, {}});
    return groups(commands->words());
  };
  EXPECT_EQ(recorded(32), 3u);
  EXPECT_EQ(recorded(36), 5u);
  EXPECT_EQ(compiled, 1);
  finish(amd.compute_queue());
}

// e_flags: EF_AMDGPU_MACH_AMDGCN_GFX1201, and a number that no chip has. [LLVM ELF.h]
TEST_F(DeviceTest, RefusesCodeOfOtherChips) {
  AmdDevice& amd = open();
  core::Binary binary = compiled_kernel("gfx1100", 3);
  binary.image[0x30] = 0x4e;
  EXPECT_EQ(amd.load(binary).error().message, "kernel kernel is for gfx1201, AMD is a gfx1100");
  binary.image[0x30] = 0xfe;
  EXPECT_EQ(amd.load(binary).error().message,
            "kernel kernel is for an unknown chip (ELF flags 0xfe), AMD is a gfx1100");
}

// e_flags of gfx942 by LLVM's ELF.h: EF_AMDGPU_FEATURE_XNACK_ANY_V4 0x100, _OFF_V4 0x200, _ON_V4
// 0x300, _XNACK_V3 0x100; ELFABIVERSION_AMDGPU_HSA_V3 1, _V5 3. llc 22 writes
// 0x54c for -mcpu=gfx942, 0x64c with -mattr=-xnack and 0x74c with -mattr=+xnack.
TEST_F(DeviceTest, RefusesCodeThatCountsOnRetriedFaults) {
  fake.set_property("gfx_target_version", 90402);
  kfd = *Kfd::open(fake);
  AmdDevice& amd = open();
  core::Binary binary = compiled_kernel("gfx1100", 3);
  binary.image[0x300 + 57] &= 0xfb;  // ENABLE_WAVEFRONT_SIZE32 of the descriptor
  const auto load = [&](u8 abi_version, u16 flags) {
    binary.image[8] = abi_version;
    std::memcpy(&binary.image[0x30], &flags, sizeof flags);
    const Result<std::unique_ptr<core::Program>> loaded = amd.load(binary);
    return loaded ? std::string() : loaded.error().message;
  };
  EXPECT_EQ(load(3, 0x54c), "");
  EXPECT_EQ(load(3, 0x64c), "");
  EXPECT_EQ(load(3, 0x04c), "");
  EXPECT_EQ(load(3, 0x74c),
            "kernel kernel is for gfx942 with XNACK on (ELF flags 0x74c), AMD runs with XNACK off");
  EXPECT_EQ(load(1, 0x24c), "");
  EXPECT_EQ(load(1, 0x14c),
            "kernel kernel is for gfx942 with XNACK on (ELF flags 0x14c), AMD runs with XNACK off");
}

// The note of this object has .max_flat_workgroup_size 64, its descriptor KERNARG_SIZE 16: `readelf
// -n`, `llvm-objdump -s -j .rodata`.
TEST_F(DeviceTest, RefusesOtherLaunchesThanTheCodeIsFor) {
  AmdDevice& amd = open();
  const auto load = [&](const core::Binary& binary) {
    const Result<std::unique_ptr<core::Program>> loaded = amd.load(binary);
    return loaded ? std::string() : loaded.error().message;
  };
  core::Binary binary = compiled_kernel();
  binary.group_items[0] = 32;
  binary.group_items[1] = 2;
  EXPECT_EQ(load(binary), "");
  binary.group_items[1] = 3;
  EXPECT_EQ(load(binary),
            "kernel kernel is launched with groups of 32 x 3 x 1 items, compiled for at most 64");
  binary.group_items[1] = 33;
  EXPECT_EQ(load(binary),
            "kernel kernel has groups of 32 x 33 x 1 items, AMD runs at most 1024 per group");
  binary = compiled_kernel();
  binary.variable_count = 1;
  EXPECT_EQ(load(binary),
            "kernel kernel takes 16 bytes of arguments, but 2 buffers and 1 variables are 24");
  binary.param_count = 1;
  EXPECT_EQ(load(binary), "");
}

// LLVM AMDGPUUsage GRANULATED_LDS_SIZE, "GFX950: roundup(lds-size / (320 * 4))": 100,000 bytes are
// 79 units, where other chips have 196 of 512 bytes.
TEST_F(DeviceTest, CountsLocalMemoryInTheChipsUnit) {
  fake.set_property("gfx_target_version", 90500);
  fake.set_property("lds_size_in_kb", 160);
  kfd = *Kfd::open(fake);
  AmdDevice& amd = open();
  core::Binary binary = compiled_kernel("gfx1100", 3);
  binary.image[0x30] = 0x4f;  // e_flags: EF_AMDGPU_MACH_AMDGCN_GFX950
  const u32 local = 100'000;
  constexpr usize kDescriptor = 0x300;  // .rodata
  std::memcpy(&binary.image[kDescriptor], &local, 4);
  binary.image[kDescriptor + 57] &= 0xfb;  // ENABLE_WAVEFRONT_SIZE32, bit 10 of byte 56
  Result<std::unique_ptr<core::Program>> loaded = amd.load(binary);
  ASSERT_TRUE(loaded) << loaded.error().message;
  const std::span<const u32> words = static_cast<AmdProgram&>(**loaded).dispatch_words();
  const Words resources = {0xc0017600, 0x213};  // SET_SH_REG of COMPUTE_PGM_RSRC2
  const auto at = std::search(words.begin(), words.end(), resources.begin(), resources.end());
  ASSERT_NE(at, words.end());
  EXPECT_EQ(at[2] >> 15 & 0x1ff, 79u);
}

TEST_F(DeviceTest, GoesRoundItsRings) {
  AmdDevice& amd = open();
  for (hcq::Queue* queue : {&amd.compute_queue(), &amd.copy_queue()}) {
    auto commands = queue->make_commands();
    for (int i = 0; i < 600; ++i)
      commands->write(u64{fake.memory.begin()->second.arguments.va_addr} + 2048, 1);
    const u64 ring =
        fake.queues.at(queue == &amd.compute_queue() ? kCompute : kCopy).arguments.ring_size;
    for (u64 sent = 0; sent < ring * 3; sent += commands->words().size_bytes()) {
      ASSERT_TRUE(queue->submit(*commands));
      if (queue == &amd.compute_queue()) finish(*queue);
    }
  }
}

TEST_F(DeviceTest, WaitsForRoomAndTellsAHang) {
  AmdDevice& amd = open({.timeout_ns = 2'000'000});
  hcq::Queue& queue = amd.compute_queue();
  auto commands = queue.make_commands();
  for (int i = 0; i < 500; ++i) commands->memory_barrier();
  Result<hcq::Point> sent = hcq::Point{};
  for (int i = 0; i < 1000 && sent; ++i) sent = queue.submit(*commands);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().kind, ErrorKind::Timeout);
  EXPECT_NE(sent.error().message.find("AMD compute queue hangs: position 1 of"), std::string::npos)
      << sent.error().message;
}

// A queue that hangs may not come off the hardware, and then the kernel resets the whole GPU.
TEST_F(DeviceTest, LeavesAHangingQueueWhereItIsUnlessAsked) {
  AmdDevice& amd = open({.timeout_ns = 2'000'000});
  auto program = *amd.load(compiled_kernel("gfx1100", 3));
  core::Ref<Buffer> a = *Buffer::allocate(amd, 4096), b = *Buffer::allocate(amd, 4096);
  const core::BufferView views[] = {{a.get(), 0}, {b.get(), 0}};
  ASSERT_TRUE(program->launch(views, {}));
  const Result<void> waited = amd.synchronize();
  ASSERT_FALSE(waited);
  const std::string& message = waited.error().message;
  EXPECT_NE(message.find("it runs kernel kernel of position 1"), std::string::npos) << message;
  EXPECT_NE(message.find("AMD_REPORT_WAVES=1 reports where its waves stand"), std::string::npos)
      << message;
  EXPECT_TRUE(fake.calls_of("UPDATE_QUEUE").empty());
  EXPECT_TRUE(fake.calls_of("GET_QUEUE_WAVE_STATE").empty());
}

// A wave is in the code of a kernel.
TEST_F(DeviceTest, TellsWhereTheWavesOfAHangStandAndPutsTheQueueBack) {
  kfd = *Kfd::open(fake, os::host_clock(), {.trap_registers = true});
  AmdDevice& amd = open({.timeout_ns = 2'000'000, .report_waves = true});
  auto program = *amd.load(compiled_kernel("gfx1100", 3));
  core::Ref<Buffer> a = *Buffer::allocate(amd, 4096), b = *Buffer::allocate(amd, 4096);
  const core::BufferView views[] = {{a.get(), 0}, {b.get(), 0}};
  ASSERT_TRUE(program->launch(views, {}));
  const hw::KfdCreateQueue& queue = fake.queues.at(kCompute).arguments;
  const std::string area = saved_area();
  ASSERT_GT(area.size(), 0x1000u);
  u8* saved = fake.at(queue.ctx_save_restore_address);
  std::memcpy(saved, area.data(), area.size());
  // The lone wave's state is the last, and its registers are 128 bytes before its end.
  const u64 entry = amd.code().allocate(256, 256, "other", 0x40)->address + 0x40;
  const u64 pc = entry + 0x24, rewound = pc - 8;  // as the kernel's trap handler leaves it
  std::memcpy(saved + area.size() - 128 + 4, &rewound, sizeof rewound);

  Result<void> waited = amd.synchronize();
  ASSERT_FALSE(waited);
  const std::string& message = waited.error().message;
  EXPECT_NE(message.find(fmt::format(
                "; 3 waves: 1 at other+0x24 ({:#x}), which faulted, exec 0x1, group 9,8,7; "
                "1 at 0x7f0000002000, which is no kernel, waiting at a barrier, exec 0xffffffff, "
                "group 1,2,3; 1 at 0x7f0000002040, which is no kernel, exec 0xf0, group 1,2,3",
                pc)),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("it runs kernel kernel of position 1"), std::string::npos) << message;
  const std::vector<std::string> updates = fake.calls_of("UPDATE_QUEUE");
  ASSERT_EQ(updates.size(), 2u);
  EXPECT_NE(updates[0].find("queue_id=0x1"), std::string::npos) << updates[0];
  EXPECT_NE(updates[0].find("queue_percentage=0x0"), std::string::npos) << updates[0];
  EXPECT_NE(updates[1].find("queue_percentage=0x64"), std::string::npos) << updates[1];
  EXPECT_EQ(fake.calls_of("GET_QUEUE_WAVE_STATE").size(), 1u);

  // Another time the kernel does not answer; another, the area makes no sense.
  fake.fail["GET_QUEUE_WAVE_STATE"] = EINVAL;
  waited = amd.synchronize();
  EXPECT_NE(waited.error().message.find("where its waves stand is unknown: GET_QUEUE_WAVE_STATE"),
            std::string::npos)
      << waited.error().message;
  saved[4] = 0xff;
  waited = amd.synchronize();
  EXPECT_NE(waited.error().message.find("does not end where the waves begin"), std::string::npos)
      << waited.error().message;
  fake.fail["UPDATE_QUEUE"] = EIO;
  waited = amd.synchronize();
  EXPECT_NE(waited.error().message.find("it cannot be taken off the hardware: UPDATE_QUEUE"),
            std::string::npos)
      << waited.error().message;
}

// They say how much is used, and write no header.
TEST_F(DeviceTest, ReadsWavesThatOlderKernelsSaved) {
  fake.minor = 12;
  kfd = *Kfd::open(fake);
  AmdDevice& amd = open({.timeout_ns = 2'000'000, .report_waves = true});
  auto commands = amd.compute_queue().make_commands();
  commands->memory_barrier();
  ASSERT_TRUE(amd.compute_queue().submit(*commands));
  const std::string area = saved_area();
  std::array<u32, 4> header;
  std::memcpy(header.data(), area.data(), sizeof header);
  const hw::KfdCreateQueue& queue = fake.queues.at(kCompute).arguments;
  fake.control_stack_used = header[1];
  fake.save_area_used = header[3];
  std::memcpy(fake.at(queue.ctx_save_restore_address) + queue.ctl_stack_size - header[1],
              area.data() + header[0], header[1] + header[3]);
  Result<void> waited = amd.synchronize();
  ASSERT_FALSE(waited);
  // Positions of groups were not requested.
  EXPECT_NE(waited.error().message.find(
                "; 3 waves: 1 at 0x7f0000001234, which is no kernel, which faulted, exec 0x1; 1 at "
                "0x7f0000002000, which is no kernel, waiting at a barrier, exec 0xffffffff; 1 at "
                "0x7f0000002040, which is no kernel, exec 0xf0"),
            std::string::npos)
      << waited.error().message;
}

// Waits fail at once, not after the timeout of a hang.
TEST_F(DeviceTest, SaysAtOnceThatTheKernelDoesNotWait) {
  AmdDevice& amd = open({.timeout_ns = 3'600'000'000'000});
  auto commands = amd.compute_queue().make_commands();
  commands->memory_barrier();
  ASSERT_TRUE(amd.compute_queue().submit(*commands));
  fake.fail["WAIT_EVENTS"] = ENOMEM;
  const Result<void> waited = amd.synchronize();
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().os_errno, ENOMEM);
  EXPECT_EQ(waited.error().device, "AMD");
  EXPECT_TRUE(waited.error().message.starts_with(
      "the wait for the AMD compute queue: WAIT_EVENTS is refused: "))
      << waited.error().message;
  finish(amd.compute_queue());
}

TEST_F(DeviceTest, DiesOfAMemoryFaultAndSaysWhere) {
  AmdDevice& amd = open();
  core::Ref<Buffer> buffer = *Buffer::allocate(amd, 4096);
  auto commands = amd.compute_queue().make_commands();
  commands->memory_barrier();
  ASSERT_TRUE(amd.compute_queue().submit(*commands));
  for (const auto& [id, type] : fake.event_types) {
    if (type != hw::kKfdEventMemory) continue;
    hw::KfdEventData data;
    data.memory_exception.va = buffer->memory().address + 4096 + 16;
    data.memory_exception.gpu_id = FakeKfd::kGpuId;
    data.memory_exception.not_present = 1;
    fake.events[id] = data;
  }
  Result<void> waited = amd.synchronize();
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().kind, ErrorKind::DeviceLost);
  EXPECT_EQ(waited.error().device, "AMD");
  EXPECT_EQ(
      waited.error().message,
      fmt::format("AMD: memory fault at {:#x}, 16 bytes behind the end of a buffer ({:#x}, "
                  "4096 bytes): the page is not present; AMD compute queue at position 1 of 1; it "
                  "has no waves",
                  buffer->memory().address + 4112, buffer->memory().address));
  // And takes nothing any more.
  EXPECT_FALSE(amd.compute_queue().submit(*commands));
}

TEST_F(DeviceTest, DiesOfAResetAndSaysWhatIsLost) {
  AmdDevice& amd = open();
  auto commands = amd.compute_queue().make_commands();
  commands->memory_barrier();
  ASSERT_TRUE(amd.compute_queue().submit(*commands));
  for (const auto& [id, type] : fake.event_types) {
    if (type != hw::kKfdEventHwException) continue;
    hw::KfdEventData data;
    data.hw_exception.gpu_id = FakeKfd::kGpuId;
    data.hw_exception.memory_lost = 1;
    fake.events[id] = data;
  }
  Result<void> waited = amd.synchronize();
  ASSERT_FALSE(waited);
  EXPECT_EQ(waited.error().kind, ErrorKind::DeviceLost);
  EXPECT_TRUE(waited.error().message.starts_with(
      "AMD: the GPU hangs; all of it was reset, and its memory is lost; AMD compute queue at "
      "position 1 of 1"))
      << waited.error().message;
  EXPECT_FALSE(amd.compute_queue().submit(*commands));
}

TEST_F(DeviceTest, RecordsGraphsInMemoryThatItJumpsTo) {
  AmdDevice& amd = open();
  auto program = *amd.load(compiled_kernel("gfx1100", 3));
  hcq::Queue& queue = amd.compute_queue();
  auto commands = queue.make_commands();
  const hcq::Operand buffers[] = {hcq::Operand::of_slot(0), u64{0x5000}};
  commands->memory_barrier();
  commands->exec({program.get(), buffers, {}});
  auto bound = *hcq::ResidentCommands::bind(queue, *commands, 1);
  hcq::ResidentCommands::Instance& instance = **bound->next();
  const u64 slots[] = {0x7000};
  bound->patch(instance, slots);
  const u64 words = instance.words->memory.address;
  const auto* host = static_cast<const u32*>(instance.words->memory.host);
  fake.take_words(kCompute);
  const hcq::Segment segment{{}, instance.words.get()};
  {
    std::lock_guard lock(queue.mutex());
    ASSERT_TRUE(queue.reserve(1));
    ASSERT_TRUE(queue.write({&segment, 1}, queue.timeline().last()));
  }
  // Fresh code, then INDIRECT_BUFFER, then the interrupt.
  const Words ring = fake.take_words(kCompute);
  ASSERT_EQ(ring.size(), 8u + 4u + 8u);
  EXPECT_EQ(slice(ring, 8, 4),
            (Words{0xc0023f00, low(words), high(words), instance.words->count | 1u << 23}));
  // Arguments lie behind the words, the slot's among them.
  const u32* user = std::find(host, host + instance.words->count, 0x240u);
  const u64 arguments = u64{user[2]} << 32 | user[1];
  EXPECT_EQ(fake.cell(arguments), 0x7000u);
  EXPECT_EQ(fake.cell(arguments + 8), 0x5000u);
  finish(queue);
}

}  // namespace
}  // namespace doorbell::amd
