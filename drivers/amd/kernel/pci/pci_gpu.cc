// Opening, starting, and what the kernel's calls ask of a GPU.
#include "drivers/amd/kernel/pci/pci_gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/util/check.h"
#include "base/util/log.h"
#include "base/util/try.h"
#include "drivers/amd/kernel/pci/boot.h"
#include "drivers/amd/kernel/pci/hardware_queues.h"

namespace doorbell::amd {

using hw::Block;
using hw::Reg;

namespace {

constexpr u64 kHugePage = u64{2} << 20;
// In SCRATCH_REG7: this start's layout of boot_memory is there. SCRATCH_REG6: queues live, or the
// state is not known.
constexpr u32 kAliveVersion = 0xdb000001;
constexpr u32 kCopyQueue = PciGpu::kComputeQueues, kAllCompute = (1u << kCopyQueue) - 1;
// Of the memory's region: what blocks keep for ever, and as much again for tables and the rest.
constexpr u64 kLeastShown = 2 * boot_memory::kEnd;

// gfx_target_version. [kfd_device.c kgd2kfd_probe(): 9.4.3 is 90402]
u64 target_of(const hw::IpVersion& gc) {
  if (gc == hw::IpVersion{9, 4, 3}) return 90402;
  return u64{gc.major} * 10000 + u64{gc.minor} * 100 + gc.revision;
}

// Memory that the region does not show, word by word.
void read_hidden(const os::Mmio& mmio, u64 from, std::span<u8> into) {
  constexpr u64 kLowBits = 31;
  for (u64 done = 0; done < into.size(); done += sizeof(u32)) {
    const u64 at = from + done;
    mmio.write32(hw::kMmIndexHi * sizeof(u32), static_cast<u32>(at >> kLowBits));
    mmio.write32(hw::kMmIndex * sizeof(u32), static_cast<u32>(at) | hw::kMmAperture);
    const u32 word = mmio.read32(hw::kMmData * sizeof(u32));
    std::memcpy(into.data() + done, &word, sizeof word);
  }
}

}  // namespace

Result<std::unique_ptr<PciGpu>> PciGpu::open(os::Files& files, os::Clock& clock,
                                             const os::PciId& id, os::VfioContainer* vfio) {
  std::unique_ptr<PciGpu> gpu(new PciGpu(files, clock));
  TRY(gpu->device_, os::PciDevice::open(files, id, vfio));
  TRY(gpu->map_regions());
  TRY(gpu->read_table());
  const hw::IpInstance* gc = gpu->discovery_.find(Block::Gc);
  if (!gpu->discovery_.chip())
    return fail(
        ErrorKind::Unsupported,
        "PCI device {} has a graphics core of version {}, Doorbell starts 9.4.3 (gfx942), 11.0.0 "
        "(gfx1100), 12.0.0 (gfx1200) and 12.0.1 (gfx1201) only",
        id.address, gc == nullptr ? "none" : to_string(gc->version));
  TRY(gpu->registers_, RegisterAccess::make(gpu->mmio_.mmio, gpu->discovery_, clock, gpu->vram()));
  return gpu;
}

PciGpu::~PciGpu() = default;

Result<void> PciGpu::map_regions() {
  TRY(mmio_, device_->map_registers(kRegisterRegion));
  TRY(vram_, device_->map_memory(kMemoryRegion));
  if (vram_.memory.size() < kLeastShown)
    return fail(ErrorKind::Unsupported,
                "PCI device {} shows {:#x} bytes of its memory, at least "
                "{:#x} are needed",
                device_->id().address, vram_.memory.size(), kLeastShown);
  return {};
}

Result<void> PciGpu::read_table() {
  const u32 megabytes = mmio_.mmio.read32(u64{hw::kConfigMemsize} * 4);
  TRY(state());
  if (megabytes == 0 || megabytes == ~u32{0})
    return fail(ErrorKind::DeviceLost, "PCI device {} does not tell how much memory it has: {:#x}",
                device_->id().address, megabytes);
  vram_bytes_ = u64{megabytes} << 20;
  std::vector<u8> table(hw::kDiscoveryBytes);
  const u64 from = vram_bytes_ - hw::kDiscoveryFromEnd;
  if (from + table.size() <= vram_.memory.size())
    vram_.memory.read_bytes(from, table);
  else
    read_hidden(mmio_.mmio, from, table);
  TRY(state());
  TRY(discovery_, hw::read_discovery(table));
  return {};
}

// The region on the bus becomes as large as the memory, where it can.
Result<void> PciGpu::show_all() {
  if (vram_.memory.size() >= vram_bytes_) return {};
  registers_.reset();
  mmio_ = {};
  vram_ = {};
  const Result<void> enlarged = device_->enlarge_region(kMemoryRegion, vram_bytes_);
  TRY(map_regions());
  TRY(registers_, RegisterAccess::make(mmio_.mmio, discovery_, clock_, vram()));
  if (!enlarged)
    log().info(
        "PCI device {} shows {} MiB of its {} MiB, so that other GPUs reach no more of it: "
        "\"resizable BAR\" (\"smart access memory\") in the firmware's settings may help: {}",
        device_->id().address, vram_.memory.size() >> 20, vram_bytes_ >> 20,
        enlarged.error().message);
  return {};
}

// Page tables, and what blocks and the host share, lie where the host sees them.
void PciGpu::set_up_heaps() {
  const u64 end = vram_bytes_ - registers_->caps().reserved_end;
  const u64 shown = std::min<u64>(end, vram_.memory.size());
  free_.emplace(boot_memory::kEnd, shown - boot_memory::kEnd, hw::kGpuPage);
  if (shown < end)
    hidden_.emplace(shown, end - shown, hw::kGpuPage);
  else
    hidden_.reset();
}

hw::NodeProperties PciGpu::properties() const {
  const hw::GraphicsInfo& graphics = discovery_.graphics;
  const u64 simds_per_unit = caps_of(*discovery_.chip()).simds_per_unit;
  hw::NodeProperties node;
  node.num_xcc = discovery_.count(Block::Gc);
  node.simd_per_cu = simds_per_unit;
  node.array_count = u64{graphics.engines} * graphics.arrays_per_engine * node.num_xcc;
  node.simd_arrays_per_engine = graphics.arrays_per_engine;
  node.cu_per_simd_array = graphics.units_per_array;
  node.simd_count = node.array_count * graphics.units_per_array * simds_per_unit;
  node.max_waves_per_simd = graphics.waves_per_simd;
  node.max_slots_scratch_cu = graphics.scratch_slots_per_unit;
  node.wave_front_size = graphics.wave_size;
  node.lds_size_in_kb = 64;
  node.gfx_target_version = target_of(discovery_.find(Block::Gc)->version);
  node.vendor_id = device_->id().vendor;
  node.device_id = pci_device();
  node.num_sdma_engines = 1;
  node.num_sdma_queues_per_engine = 1;
  node.num_cp_queues = kComputeQueues;
  node.local_mem_size = vram_bytes_;
  return node;
}

Result<void> PciGpu::boot() {
  std::lock_guard lock(mutex_);
  if (is_booted_) return {};
  const u64 begin_ns = clock_.now_ns();
  TRY(show_all());
  const RegisterAccess& registers = *registers_;
  is_warm_ = registers.read(Reg::ScratchReg7) == kAliveVersion &&
             registers.read(Reg::ScratchReg6) == 0 && fault_status() == 0;
  if (registers.xccs() > boot_memory::kMaxXccs)
    return fail(ErrorKind::Unsupported, "PCI device {} has {} XCCs, at most {}",
                device_->id().address, registers.xccs(), boot_memory::kMaxXccs);
  if (registers.has(Reg::MmmcVmXgmiLfbCntl) &&
      (registers.read(Reg::MmmcVmXgmiLfbCntl) & hw::kXgmiMaxRegion) != 0)
    return fail(ErrorKind::Unsupported,
                "PCI device {} is joined to others by XGMI, which are reset and started together "
                "only",
                device_->id().address);
  if (!is_warm_ && is_psp_alive(registers) && is_smu_alive(registers)) {
    log().info("PCI device {} was left in a state that is not known, it is reset",
               device_->id().address);
    TRY(device_->set_bus_master(false));
    TRY(reset_whole_gpu(registers));
  }
  TRY(device_->set_bus_master(true));
  TRY(const BootTarget target, read_framebuffer(registers, vram()));
  set_up_heaps();
  if (is_warm_) {
    TRY(entries_, read_entries(files_, discovery_));
    for (u32 queue = 0; queue < kComputeQueues; ++queue)
      TRY(unload_compute_queue(registers, queue));
    unload_copy_queue(registers);
    tables_.emplace(vram(), boot_memory::kRootTable, *free_, kFirstGpuAddress,
                    registers.caps().chip);
  } else {
    TRY(const Firmware firmware, read_firmware(files_, discovery_, pci_device()));
    entries_ = firmware.entries;
    tables_.emplace(vram(), boot_memory::kRootTable, *free_, kFirstGpuAddress,
                    registers.caps().chip);
    start_bus_interface(target);
    start_hub(target, Hub::Memory);
    start_interrupts(target);
    TRY(start_psp(target, firmware));
    TRY(start_smu(target));
  }
  TRY(wait_for_graphics(registers));
  start_hub(target, Hub::Graphics);
  TRY(invalidate());
  start_graphics(target, entries_, is_warm_);
  if (!is_warm_) TRY(make_one_partition(target));
  start_copy_engine(target);
  TRY(set_clocks(registers, true));
  interrupt_rptr_ = registers.read(Reg::IhRbRptr) & hw::kIhOffsetMask;
  registers.write(Reg::ScratchReg6, 0);
  registers.write(Reg::ScratchReg7, kAliveVersion);
  TRY(state());
  is_booted_ = true;
  log().info("PCI device {} {} in {:.1f} ms", device_->id().address,
             is_warm_ ? "was alive, and is ready" : "is started",
             static_cast<f64>(clock_.now_ns() - begin_ns) / 1e6);
  return {};
}

// ---- memory -------------------------------------------------------------------------------------

Result<u64> PciGpu::allocate_vram(u64 bytes, bool is_for_host) {
  std::lock_guard lock(mutex_);
  const u64 alignment = bytes >= kHugePage ? kHugePage : hw::kGpuPage;
  std::optional<u64> offset;
  if (hidden_ && !is_for_host) offset = hidden_->allocate(bytes, alignment);
  if (!offset) offset = free_->allocate(bytes, alignment);
  if (offset) return *offset;
  if (hidden_ && is_for_host)
    return fail(ErrorKind::OutOfMemory,
                "the GPU has no {} bytes in one piece among the {} MiB that the host sees", bytes,
                vram_.memory.size() >> 20);
  return fail(ErrorKind::OutOfMemory, "the GPU has no {} bytes in one piece", bytes);
}

void PciGpu::free_vram(u64 offset) {
  std::lock_guard lock(mutex_);
  hcq::Tlsf& heap = hidden_ && offset >= vram_.memory.size() ? *hidden_ : *free_;
  heap.release(offset);
}

u64 PciGpu::free_bytes() {
  std::lock_guard lock(mutex_);
  return vram_bytes_ - boot_memory::kEnd - registers_->caps().reserved_end - free_->in_use() -
         (hidden_ ? hidden_->in_use() : 0);
}

// Both hubs' translations are forgotten, also after an entry that was not there before: a TLB may
// keep that it was not.
Result<void> PciGpu::invalidate() {
  TRY(const BootTarget target, read_framebuffer(*registers_, vram()));
  TRY(invalidate_hub(target, Hub::Graphics));
  return invalidate_hub(target, Hub::Memory);
}

void PciGpu::flush_host_writes() {
  std::lock_guard lock(mutex_);
  BootTarget{.registers = *registers_, .vram = vram()}.flush_hdp();
}

Result<void> PciGpu::map(u64 va, std::span<const Part> parts, const hw::PageEntry& entry) {
  std::lock_guard lock(mutex_);
  u64 done = 0;
  for (const Part& part : parts) {
    hw::PageEntry one = entry;
    one.address = part.address;
    if (Result<void> mapped = tables_->map(va + done, part.bytes, one); !mapped) {
      // Whatever came before it leads to memory that is about to be given back.
      tables_->unmap(va, done);
      TRY(invalidate());
      tables_->release_empty();
      return mapped;
    }
    done += part.bytes;
  }
  return invalidate();
}

Result<void> PciGpu::unmap(u64 va, u64 bytes) {
  std::lock_guard lock(mutex_);
  tables_->unmap(va, bytes);
  TRY(invalidate());
  tables_->release_empty();
  return {};
}

// ---- queues -------------------------------------------------------------------------------------

// Whoever finds the bit after this process knows that it died with queues on the GPU.
void PciGpu::note_queues() {
  registers_->write(Reg::ScratchReg6, live_queues_ != 0 || is_dirty_ ? 1 : 0);
}

void PciGpu::mark_dirty() {
  std::lock_guard lock(mutex_);
  is_dirty_ = true;
  note_queues();
}

bool PciGpu::is_dirty() {
  std::lock_guard lock(mutex_);
  return is_dirty_;
}

Result<u32> PciGpu::start_compute(u32 queue, const PciQueueMemory& memory) {
  CHECK(queue < kComputeQueues, "compute queue {} of {}", queue, kComputeQueues);
  std::lock_guard lock(mutex_);
  TRY(const BootTarget target, read_framebuffer(*registers_, vram()));
  const u32 doorbell = hw::kFirstComputeDoorbell + queue;
  live_queues_ |= 1u << queue;
  note_queues();
  load_compute_queue(target, queue, doorbell, memory);
  TRY(state());
  return doorbell;
}

Result<void> PciGpu::stop_compute(u32 queue) {
  std::lock_guard lock(mutex_);
  Result<void> ended = unload_compute_queue(*registers_, queue);
  if (ended)
    live_queues_ &= ~(1u << queue);
  else
    stuck_queues_ |= 1u << queue;
  is_dirty_ |= !ended;
  if (is_dirty_ && (live_queues_ & kAllCompute) == stuck_queues_) ended = recover();
  note_queues();
  return ended;
}

// Under mutex_. [tinygrad amdev.py AMDev.recover(), ip.py AM_GFX.reset_mec()]
Result<void> PciGpu::recover() {
  TRY(const BootTarget target, read_framebuffer(*registers_, vram()));
  start_graphics(target, entries_, true);
  for (u32 queue = 0; queue < kComputeQueues; ++queue)
    TRY(unload_compute_queue(*registers_, queue));
  clear_faults();
  live_queues_ &= ~kAllCompute;
  stuck_queues_ = 0;
  is_dirty_ = false;
  log().info("PCI device {}: its compute processor was reset", device_->id().address);
  return {};
}

Result<u32> PciGpu::start_copy(const PciQueueMemory& memory) {
  std::lock_guard lock(mutex_);
  TRY(const BootTarget target, read_framebuffer(*registers_, vram()));
  live_queues_ |= 1u << kCopyQueue;
  note_queues();
  // The end of a queue resets the engine.
  start_copy_engine(target);
  load_copy_queue(target, hw::kFirstCopyDoorbell, memory);
  TRY(state());
  return hw::kFirstCopyDoorbell;
}

Result<void> PciGpu::stop_copy() {
  std::lock_guard lock(mutex_);
  unload_copy_queue(*registers_);
  live_queues_ &= ~(1u << kCopyQueue);
  note_queues();
  return {};
}

Result<os::MappedRegisters> PciGpu::map_doorbells() {
  return device_->map_registers(kDoorbellRegion);
}

// ---- interrupts ---------------------------------------------------------------------------------

std::vector<hw::InterruptEntry> PciGpu::take_interrupts() {
  std::lock_guard lock(mutex_);
  std::vector<hw::InterruptEntry> entries;
  if (!is_booted_) return entries;
  const u32 word = registers_->read(Reg::IhRbWptr);
  if (!state()) return entries;
  const u32 end = word & hw::kIhOffsetMask;
  if (end == interrupt_rptr_ && (word & hw::kIhOverflow) == 0) return entries;
  // The ring went on over entries that were not taken: the oldest that is left lies behind the
  // newest. [ih_v6_0.c ih_v6_0_get_wptr()]
  if ((word & hw::kIhOverflow) != 0)
    interrupt_rptr_ =
        static_cast<u32>((end + hw::kInterruptBytes) % boot_memory::kInterruptRingBytes);
  while (interrupt_rptr_ != end) {
    Words<hw::InterruptEntry> words;
    for (usize i = 0; i < words.size(); ++i)
      words[i] =
          vram_.memory.read32(boot_memory::kInterruptRing + interrupt_rptr_ + i * sizeof(u32));
    entries.push_back(decode<hw::InterruptEntry>(words));
    interrupt_rptr_ = static_cast<u32>((interrupt_rptr_ + hw::kInterruptBytes) %
                                       boot_memory::kInterruptRingBytes);
  }
  registers_->write(Reg::IhRbRptr, interrupt_rptr_);
  if ((word & hw::kIhOverflow) != 0) {
    log().warn("PCI device {} lost interrupts", device_->id().address);
    const u32 control = registers_->read(Reg::IhRbCntl);
    hw::IhRingControl clear = hw::fields_of<hw::IhRingControl>(control);
    clear.overflow_clear = true;
    registers_->write(Reg::IhRbCntl, clear);
    registers_->write(Reg::IhRbCntl, control);
  }
  return entries;
}

// Of the first XCC that has one.
u32 PciGpu::fault_status() const {
  for (u32 xcc = 0; xcc < registers_->xccs(); ++xcc)
    if (const u32 status = registers_->on(xcc).read(Reg::GcvmL2ProtectionFaultStatus))
      return status;
  return 0;
}

void PciGpu::clear_faults() {
  for (u32 xcc = 0; xcc < registers_->xccs(); ++xcc)
    registers_->on(xcc).change(Reg::GcvmL2ProtectionFaultCntl, 0, hw::kFaultControlClear);
}

hw::FaultStatus PciGpu::take_fault() {
  std::lock_guard lock(mutex_);
  const u32 status = fault_status();
  clear_faults();
  return hw::fields_of<hw::FaultStatus>(status);
}

// The halves are two registers: again, if the upper one went on between them.
Result<u64> PciGpu::clock_ticks() {
  std::lock_guard lock(mutex_);
  // Of GC 9.4.3 the two are taken at once. [gfx_v9_4_3.c gfx_v9_4_3_get_gpu_clock_counter()]
  if (registers_->has(Reg::RlcCaptureGpuClockCount)) {
    registers_->write(Reg::RlcCaptureGpuClockCount, 1);
    return u64{registers_->read(Reg::RlcGpuClockCountMsb)} << 32 |
           registers_->read(Reg::RlcGpuClockCountLsb);
  }
  u32 upper = registers_->read(Reg::GoldenTscCountUpper);
  for (;;) {
    const u32 lower = registers_->read(Reg::GoldenTscCountLower);
    const u32 again = registers_->read(Reg::GoldenTscCountUpper);
    if (again == upper) return u64{upper} << 32 | lower;
    upper = again;
  }
}

}  // namespace doorbell::amd
