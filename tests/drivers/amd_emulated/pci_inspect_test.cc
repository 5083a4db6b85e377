// What tools see of a GPU over PCI: translations against bytes that were copied through them,
// rings against words put there by hand, interrupts against those that were raised.
#include "drivers/amd/kernel/pci/inspect.h"

#include <cstring>

#include "drivers/amd/hw/bare/page_table.h"
#include "drivers/amd/hw/bare/register_fields.h"
#include "tests/drivers/amd_emulated/pci_machine.h"

namespace doorbell::amd {
namespace {

using core::Buffer;

struct PciInspect : ::testing::Test {
  PciMachine machine{{.gpus = {"gfx1100"}, .lockstep = true}};
  std::unique_ptr<PciProcess> process = *machine.start();
  HostByte host = [this](u64 address) { return process->kernel->host_byte(address); };
};

TEST_F(PciInspect, WalksToTheBytesThatWereCopiedThere) {
  auto device = *machine.open(*process);
  std::vector<u32> numbers(3000);
  for (u32 i = 0; i < numbers.size(); ++i) numbers[i] = i * 2654435761u;
  const usize bytes = numbers.size() * sizeof(u32);
  auto buffer = *Buffer::allocate(*device, bytes);
  ASSERT_TRUE(buffer->copy_in(numbers.data(), bytes));
  ASSERT_TRUE(device->synchronize());
  const PciKernel::Viewed viewed = *process->kernel->view(0);
  const PciGpu::Look look = viewed.gpu->look();
  const auto read = read_memory(look.view(), buffer->memory().address, bytes, host);
  ASSERT_TRUE(read);
  EXPECT_EQ(std::memcmp(read->data(), numbers.data(), bytes), 0);
  const PageWalk walk = walk_pages(look.view(), buffer->memory().address);
  ASSERT_TRUE(walk.target);
  EXPECT_FALSE(walk.target->is_system);
  EXPECT_GE(walk.steps.size(), 3u);
  EXPECT_EQ(walk.steps[0].table, 0u);
}

TEST_F(PciInspect, SaysWhereAWalkEnds) {
  {
    const PciKernel::Viewed cold = *process->kernel->view(0);
    EXPECT_STREQ(walk_pages(cold.gpu->look().view(), u64{1} << 45).ends, "the context is off");
  }
  auto device = *machine.open(*process);
  const PciKernel::Viewed viewed = *process->kernel->view(0);
  const PciGpu::Look look = viewed.gpu->look();
  EXPECT_STREQ(walk_pages(look.view(), 0x1000).ends,
               "the address is outside of the context's range");
  const PageWalk walk = walk_pages(look.view(), (u64{1} << 45) + (u64{1} << 43));
  EXPECT_STREQ(walk.ends, "the entry is not valid");
  EXPECT_EQ(walk.steps.size(), 1u);
  EXPECT_EQ(walk.steps[0].index, 16u);  // 8 TiB, of 512 GiB each
}

// As a card that fell off the bus: all that is asked of it is all ones.
TEST_F(PciInspect, OutlastsAGpuThatDoesNotAnswer) {
  process.reset();
  process = *machine.start([](u64, u32&) { return true; });
  auto device = *machine.open(*process);
  ASSERT_TRUE(device->synchronize());
  const PciKernel::Viewed viewed = *process->kernel->view(0);
  const PciGpu::Look look = viewed.gpu->look();
  process->filtered->is_dead = true;
  EXPECT_EQ(look.registers.read(hw::Reg::IhRbCntl), ~0u);
  EXPECT_FALSE(walk_pages(look.view(), u64{1} << 45).target);
  for (const bool is_copy : {false, true}) {
    const QueueView queue =
        is_copy ? read_copy_queue(look.registers) : read_compute_queue(look.registers, 0);
    EXPECT_FALSE(read_ring(look.view(), queue, host).unread);
  }
  EXPECT_TRUE(read_interrupts(look.view(), 16).waiting.empty());
  EXPECT_TRUE(read_firmware_state(look.registers, false).is_psp_alive);
  process->filtered->is_dead = false;
}

// Its pointers count packets of 16 words.
TEST_F(PciInspect, ReadsPacketsOfAnAqlQueue) {
  auto device = *machine.open(*process, 0, {.packets = Options::Packets::Aql});
  ASSERT_TRUE(device->synchronize());
  const PciKernel::Viewed viewed = *process->kernel->view(0);
  const PciGpu::Look look = viewed.gpu->look();
  QueueView queue = read_compute_queue(look.registers, 0);
  EXPECT_EQ(queue.kind, hw::StreamKind::Aql);
  const RingView idle = read_ring(look.view(), queue, host);
  ASSERT_TRUE(idle.unread && idle.is_by_memory);
  EXPECT_TRUE(idle.unread->empty());
  // By registers: two packets.
  queue.read_pointer_at = queue.write_pointer_at = 0;
  queue.read_register = 3, queue.write_register = 5;
  const RingView behind = read_ring(look.view(), queue, host);
  EXPECT_EQ(behind.read, 48u);
  ASSERT_TRUE(behind.unread);
  EXPECT_EQ(behind.unread->size(), 32u);
}

TEST_F(PciInspect, ReadsWordsThatNobodyHasRead) {
  auto device = *machine.open(*process);
  ASSERT_TRUE(device->synchronize());
  const PciKernel::Viewed viewed = *process->kernel->view(0);
  PciGpu::Look look = viewed.gpu->look();
  const auto memory = [&](u64 va) {
    const PageWalk walk = walk_pages(look.view(), va);
    EXPECT_TRUE(walk.target && walk.target->is_system) << walk.ends;
    return const_cast<u8*>(process->kernel->host_byte(walk.target->address));
  };
  const QueueView queue = read_compute_queue(look.registers, 0);
  EXPECT_TRUE(queue.is_active && queue.has_doorbell);
  EXPECT_EQ(queue.doorbell, 6u);  // the first of compute, in words
  const RingView idle = read_ring(look.view(), queue, host);
  ASSERT_TRUE(idle.unread && idle.is_by_memory);
  EXPECT_TRUE(idle.unread->empty());
  // Three words that no doorbell tells of.
  const u32 words[] = {0xc0001000, 0x11, 0x22};
  for (u64 i = 0; i < 3; ++i)
    std::memcpy(memory(queue.ring + (idle.write + i) * 4), &words[i], sizeof words[i]);
  u64 pointer = 0;
  std::memcpy(&pointer, memory(queue.write_pointer_at), sizeof pointer);
  const u64 moved = pointer + 3;
  std::memcpy(memory(queue.write_pointer_at), &moved, sizeof moved);
  const RingView behind = read_ring(look.view(), queue, host);
  EXPECT_EQ(*behind.unread, (std::vector<u32>{0xc0001000, 0x11, 0x22}));
  EXPECT_EQ(behind.write - behind.read, 3u);
  std::memcpy(memory(queue.write_pointer_at), &pointer, sizeof pointer);
  // Memory of another process cannot be read.
  const RingView others = read_ring(look.view(), queue, nullptr);
  EXPECT_FALSE(others.is_by_memory);
  EXPECT_TRUE(!others.unread || others.read == others.write);
  EXPECT_TRUE(read_copy_queue(look.registers).is_active);
  EXPECT_FALSE(read_compute_queue(look.registers, 5).is_active);
  look.lock.unlock();
}

TEST_F(PciInspect, ShowsInterruptsThatWait) {
  auto device = *machine.open(*process);
  ASSERT_TRUE(device->synchronize());
  const PciKernel::Viewed viewed = *process->kernel->view(0);
  (void)viewed.gpu->take_interrupts();
  emu::amdgpu::BareGpu& gpu = machine.machine->bare_gpu(0);
  gpu.signal(7, 32);
  gpu.signal(8, 28);
  {
    const PciGpu::Look look = viewed.gpu->look();
    const InterruptsView all = read_interrupts(look.view(), 0);
    ASSERT_EQ(all.waiting.size(), 2u);
    EXPECT_EQ(all.waiting[0].source, hw::kSourceEndOfPipe);
    EXPECT_EQ(all.waiting[0].context0, 7u);
    EXPECT_EQ(all.waiting[1].source, hw::kSourceCopyTrap);
    EXPECT_FALSE(all.has_lost);
  }
  EXPECT_EQ(viewed.gpu->take_interrupts().size(), 2u);
  const PciGpu::Look look = viewed.gpu->look();
  const InterruptsView after = read_interrupts(look.view(), 2);
  EXPECT_TRUE(after.waiting.empty());
  ASSERT_EQ(after.taken.size(), 2u);
  EXPECT_EQ(after.taken[1].context0, 8u);
}

// The ring has 8192 entries, and goes on over the oldest.
TEST_F(PciInspect, TakesWhatIsLeftOfTooManyInterrupts) {
  auto device = *machine.open(*process);
  const PciKernel::Viewed viewed = *process->kernel->view(0);
  (void)viewed.gpu->take_interrupts();
  for (u32 i = 0; i < 8192 + 100; ++i) machine.machine->bare_gpu(0).signal(i, 32);
  EXPECT_TRUE(read_interrupts(viewed.gpu->look().view(), 0).has_lost);
  const std::vector<hw::InterruptEntry> taken = viewed.gpu->take_interrupts();
  ASSERT_EQ(taken.size(), 8191u);
  EXPECT_EQ(taken.front().context0, 101u);
  EXPECT_EQ(taken.back().context0, 8291u);
  machine.machine->bare_gpu(0).signal(5, 32);
  ASSERT_EQ(viewed.gpu->take_interrupts().size(), 1u);
  EXPECT_FALSE(read_interrupts(viewed.gpu->look().view(), 0).has_lost);
}

TEST_F(PciInspect, TellsWhatFirmwareRuns) {
  {
    const PciKernel::Viewed cold = *process->kernel->view(0);
    const FirmwareState state = read_firmware_state(cold.gpu->look().registers, true);
    EXPECT_FALSE(state.is_psp_alive || state.has_started_graphics || state.is_compute_running);
    EXPECT_FALSE(state.power_version);
  }
  auto device = *machine.open(*process);
  const PciKernel::Viewed viewed = *process->kernel->view(0);
  const FirmwareState state = read_firmware_state(viewed.gpu->look().registers, true);
  EXPECT_TRUE(state.is_psp_alive && state.has_psp_ring && state.has_started_graphics);
  EXPECT_TRUE(state.is_compute_running && state.is_copy_running);
  EXPECT_EQ(state.live, 1u);
  EXPECT_EQ(state.power_version, 0x4e7e00u);
  const Firmware firmware = *process->kernel->firmware_of(*viewed.gpu);
  ASSERT_EQ(firmware.versions.size(), 6u);
  EXPECT_EQ(firmware.versions[0].name, "psp_13_0_0_sos.bin");
  EXPECT_EQ(firmware.versions[0].version, 0xdb01u);
}

// A page table that has no room: what was mapped before goes, and the GPU's memory with it.
TEST_F(PciInspect, MapsAllOrNothing) {
  std::vector<u8> vram(1 << 20);
  hcq::Tlsf room(0x1000, 2 * hw::kGpuPage, hw::kGpuPage);  // for two tables
  PageTables tables({vram.data(), vram.size()}, 0, room, 0, hw::BareChip::Gc11);
  hw::PageEntry entry{.readable = true, .address = 0x80000};
  EXPECT_FALSE(tables.map(0x1000, 0x2000, entry));
  hcq::Tlsf more_room(0x1000, 3 * hw::kGpuPage, hw::kGpuPage);
  PageTables more({vram.data(), vram.size()}, 0, more_room, 0, hw::BareChip::Gc11);
  // Across the border of two lowest tables, of which there is one.
  entry.address = 0x1ff000;
  EXPECT_FALSE(more.map(0x1ff000, 0x2000, entry));
  u64 first = 0;
  for (u64 at = 0x1000; at < 0x4000; at += 8) {
    std::memcpy(&first, vram.data() + at, sizeof first);
    EXPECT_FALSE((first & 1) != 0 && (first & 0x20) != 0) << at;
  }
}

TEST(RegisterFields, AreNamed) {
  // GRBM_GFX_CNTL of tinygrad's _grbm_select(me=1, queue=1), as in bare_test.cc.
  const std::vector<hw::NamedField> fields =
      hw::register_fields(hw::Reg::GrbmGfxCntl, 0x104, hw::BareChip::Gc11);
  ASSERT_EQ(fields.size(), 4u);
  EXPECT_EQ(fields[1].name, "MEID");
  EXPECT_EQ(fields[1].value, 1u);
  EXPECT_EQ(fields[3].name, "QUEUEID");
  EXPECT_EQ(fields[3].value, 1u);
  // The depth of both chips' contexts, and the first field that lies elsewhere.
  for (const hw::BareChip chip : {hw::BareChip::Gc11, hw::BareChip::Gc12}) {
    const auto context = hw::register_fields(hw::Reg::GcvmContext0Cntl, 0x17, chip);
    EXPECT_EQ(context[1].value, 3u);
    EXPECT_EQ(context[2].name, "PAGE_TABLE_BLOCK_SIZE");
    EXPECT_EQ(context[2].value, chip == hw::BareChip::Gc11 ? 2u : 1u);
  }
  EXPECT_TRUE(hw::register_fields(hw::Reg::CpStat, 5, hw::BareChip::Gc11).empty());
}

}  // namespace
}  // namespace doorbell::amd
