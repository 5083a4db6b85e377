// PM4 packets that read, write, wait for and copy registers and memory (pm4_interpreter.h).
// [nvd.h and soc15d.h, the lists beside the opcodes; kfd_pm4_headers_ai.h; Mesa
// src/amd/common/sid.h]
#include <algorithm>
#include <array>
#include <cstring>

#include "emulator/amd/cp/compare.h"
#include "emulator/amd/cp/pm4_interpreter.h"
#include "emulator/amd/cp/reserved_bits.h"
#include "emulator/amd/cp/rules.h"
#include "emulator/amd/isa/memory/atomic_updates.h"

namespace doorbell::emu::amdgpu {

namespace hw = amd::hw;

namespace {

bool known(hw::Compare function) { return function <= hw::Compare::Greater; }

// [navi10_enum.h GL2_OP_ATOMIC_*; RDNA3 ISA, the pseudo-code of GLOBAL_ATOMIC_*]
template <class T>
GuestMemory::Update atomic_update(u8 operation) {
  using Signed = std::make_signed_t<T>;
  switch (operation) {
    case 0x07: return update::swap<T>;
    case 0x08: return update::compare_swap<T>;
    case 0x0f: return update::add<T>;
    case 0x10: return update::subtract<T>;
    case 0x11: return update::minimum<Signed>;
    case 0x12: return update::minimum<T>;
    case 0x13: return update::maximum<Signed>;
    case 0x14: return update::maximum<T>;
    case 0x15: return update::bit_and<T>;
    case 0x16: return update::bit_or<T>;
    case 0x17: return update::bit_xor<T>;
    case 0x18: return update::increment<T>;
    case 0x19: return update::decrement<T>;
    default: return nullptr;
  }
}

}  // namespace

std::optional<u32> Pm4Interpreter::read_register(u32 xcc, u32 address) {
  if (address >= hw::kShRegStart && address < hw::kShRegEnd) return sh_[xcc].read(address);
  if (address >= hw::kUconfigRegStart && address < hw::kUconfigRegEnd)
    return gpu_.uconfig.read(address);
  queue_.stop(fmt::format("read of register {:#x}, which is not emulated", address));
  return std::nullopt;
}

bool Pm4Interpreter::check_register(u32 address, u32 value) {
  if (address >= hw::kShRegStart && address < hw::kShRegEnd &&
      !is_client_register(gpu_.generation, address) &&
      report_violation(kForeignRegister,
                       fmt::format("{:#x} goes to {}, {:#x}", value,
                                   hw::register_name(gpu_.generation, address), address)))
    return false;
  const u32 reserved = value & reserved_bits(gpu_.generation, address);
  return reserved == 0 ||
         !report_violation(
             kRegisterBits,
             fmt::format("{} gets {:#x}, of which it does not have {:#x}",
                         hw::register_name(gpu_.generation, address), value, reserved));
}

bool Pm4Interpreter::check_mask(hw::Compare function, u64 mask) {
  return !skips_bits(function, mask) ||
         !report_violation(kWaitMask,
                           fmt::format("{} by order, with the mask {:#x}", describe(), mask));
}

bool Pm4Interpreter::check_interval(bool known, u32 interval) {
  return known || !report_violation(kPollInterval, fmt::format("{} rests {} times 16 clocks",
                                                               describe(), interval));
}

bool Pm4Interpreter::check_graphics(const char* part, bool named) {
  return !named || !report_violation(kGraphicsPart, fmt::format("{} names {}", describe(), part));
}

bool Pm4Interpreter::check_unusual(const char* field, bool is_set) {
  return !is_set || !report_violation(kUnusualField, fmt::format("{} has {}", describe(), field));
}

bool Pm4Interpreter::write_register(u32 xcc, u32 address, u32 value) {
  if (!check_register(address, value)) return false;
  if (address >= hw::kShRegStart && address < hw::kShRegEnd)
    sh_[xcc].write(address, value);
  else if (address >= hw::kUconfigRegStart && address < hw::kUconfigRegEnd)
    gpu_.uconfig.write(address, value);
  else
    return queue_.stop(fmt::format("write of {:#x} to register {:#x}, which is not emulated", value,
                                   address)),
           false;
  return true;
}

Outcome Pm4Interpreter::execute(const hw::SetShReg& packet) {
  // Of SET_SH_REG_INDEX, and of the kernel's own rings. [soc15d.h PACKET3_SET_SH_REG__INDEX,
  // __VMID_SHIFT; tinygrad ops_amd.py AMDComputeQueue.wreg: the offset only]
  if ((packet.vmid_shift != 0 || packet.index != 0) &&
      report_violation(kReservedBits,
                       fmt::format("SET_SH_REG with VMID_SHIFT {} and INDEX {}",
                                   unsigned{packet.vmid_shift}, unsigned{packet.index})))
    return Outcome::Stop;
  u32 first = hw::kShRegStart + packet.offset;
  u32 count = static_cast<u32>(words_.size()) - hw::SetShReg::kWords;
  if (first + count > hw::kShRegEnd)
    return stopped(fmt::format("SET_SH_REG of {} registers at {:#x}, beyond {:#x}", count, first,
                               hw::kShRegEnd));
  for (u32 i = 0; i < count; ++i)
    if (!check_register(first + i, words_[hw::SetShReg::kWords + i])) return Outcome::Stop;
  for (u32 xcc = 0; xcc < gpu_.xccs; ++xcc) {
    if (!(mask_ >> xcc & 1)) continue;
    for (u32 i = 0; i < count; ++i) sh_[xcc].write(first + i, words_[hw::SetShReg::kWords + i]);
  }
  return Outcome::Done;
}

Outcome Pm4Interpreter::execute(const hw::SetUconfigReg& packet) {
  u32 first = hw::kUconfigRegStart + packet.offset;
  for (usize i = hw::SetUconfigReg::kWords; i < words_.size(); ++i)
    gpu_.uconfig.write(first + static_cast<u32>(i) - hw::SetUconfigReg::kWords, words_[i]);
  return Outcome::Done;
}

// Graphics state, which compute engines have none of.
Outcome Pm4Interpreter::execute(const hw::SetContextReg&) { return not_executed(); }

Outcome Pm4Interpreter::execute(const hw::WaitRegMem& packet) {
  bool waits = packet.operation == hw::WaitOperation::Wait ||
               packet.operation == hw::WaitOperation::WaitPreemptable;
  if (!known(packet.function) || !waits || packet.space != hw::WaitSpace::Memory)
    return stopped(describe() + ": its function, operation or space is reserved");
  if (!check_mask(packet.function, packet.mask) ||
      !check_interval(is_wait_interval(packet.poll_interval), packet.poll_interval) ||
      !check_graphics("the PFP", packet.engine_pfp) ||
      !check_unusual("a cache policy", packet.cache_policy != hw::CachePolicy::Lru) ||
      !check_unusual("OPTIMIZE_ACE_OFFLOAD_MODE", packet.optimize_ace_offload_mode))
    return Outcome::Stop;
  u32 value = 0;
  if (auto fault = gpu_.memory.load(Client::CommandProcessor, packet.addr, value))
    return stopped(std::move(*fault));
  const Queue::Wait wait{packet.addr, packet.function, packet.mask, packet.reference, value};
  if (holds(packet.function, value & packet.mask, packet.reference)) {
    queue_.note_wait_over(wait, sizeof value);
    return Outcome::Done;
  }
  queue_.note_narrow_wait(Client::CommandProcessor, wait);
  return Outcome::Wait;
}

Outcome Pm4Interpreter::execute(const hw::WaitReg& packet) {
  if (!known(packet.function)) return stopped(describe() + ": its function is reserved");
  if (packet.operation == hw::WaitOperation::Wait) {
    auto value = read_register(0, packet.reg);
    if (!value) return Outcome::Stop;
    return holds(packet.function, *value & packet.mask, packet.reference) ? Outcome::Done
                                                                          : Outcome::Wait;
  }
  // A request and its acknowledgement: of the host data path's flush, which is done at once here,
  // since there is no such buffer between host and memory. [gfx_v11_0.c ring_emit_hdp_flush]
  if (packet.operation != hw::WaitOperation::WriteWaitWrite ||
      packet.reg != hw::kHdpFlushReq.at(gpu_.generation) ||
      packet.done_reg != hw::kHdpFlushDone.at(gpu_.generation))
    return stopped(
        fmt::format("write of {:#x} to register {:#x} and wait for {:#x}, which are not "
                    "emulated",
                    packet.reference, u32{packet.reg}, u32{packet.done_reg}));
  return holds(packet.function, packet.reference & packet.mask, packet.reference)
             ? Outcome::Done
             : stopped(describe() + ": the acknowledgement never satisfies the comparison");
}

Outcome Pm4Interpreter::execute(const hw::WaitRegMem64& packet) {
  if (packet.space != hw::WaitSpace::Memory || !known(packet.function) ||
      packet.operation != hw::WaitOperation::Wait)
    return stopped(describe() + ": only a wait on memory is defined for compute");
  if (!check_mask(packet.function, packet.mask) ||
      !check_interval(is_wait_interval(packet.poll_interval), packet.poll_interval))
    return Outcome::Stop;
  u64 value = 0;
  if (auto fault = gpu_.memory.load(Client::CommandProcessor, packet.addr, value))
    return stopped(std::move(*fault));
  const Queue::Wait wait{packet.addr, packet.function, packet.mask, packet.reference, value};
  if (holds(packet.function, value & packet.mask, packet.reference)) {
    queue_.note_wait_over(wait, sizeof value);
    return Outcome::Done;
  }
  queue_.note_wait(wait);
  return Outcome::Wait;
}

Outcome Pm4Interpreter::execute(const hw::CopyData& packet) {
  unsigned bytes = packet.count_sel_64 ? 8 : 4;
  bool in_memory =
      packet.src_sel == hw::CopySource::Memory || packet.src_sel == hw::CopySource::Tcl2;
  bool to_memory =
      packet.dst_sel == hw::CopyTarget::Memory || packet.dst_sel == hw::CopyTarget::Tcl2;
  bool to_register = packet.dst_sel == hw::CopyTarget::Register;
  u64 alignment = bytes;
  if ((in_memory && packet.src % alignment != 0) || (to_memory && packet.dst % alignment != 0))
    if (report_violation(kEopAlignment, describe())) return Outcome::Stop;
  if (!to_memory && !to_register) return stopped(describe() + ": this target is not emulated");

  for (u32 xcc = 0; xcc < gpu_.xccs; ++xcc) {
    if (!(mask_ >> xcc & 1)) continue;
    u64 value = 0;
    if (in_memory) {
      if (auto fault = gpu_.memory.read(Client::CommandProcessor, packet.src,
                                        std::span(reinterpret_cast<u8*>(&value), bytes)))
        return stopped(std::move(*fault));
    } else if (packet.src_sel == hw::CopySource::Immediate) {
      value = packet.src;
    } else if (packet.src_sel == hw::CopySource::GpuClockCount) {
      value = gpu_.clock();
    } else if (packet.src_sel == hw::CopySource::Register ||
               packet.src_sel == hw::CopySource::PerfCounters) {
      for (unsigned i = 0; i < bytes / 4; ++i) {
        auto word = read_register(xcc, static_cast<u32>(packet.src) + i);
        if (!word) return Outcome::Stop;
        value |= u64{*word} << (32 * i);
      }
    } else {
      return stopped(describe() + ": this source is not emulated");
    }
    if (to_register) {
      for (unsigned i = 0; i < bytes / 4; ++i)
        if (!write_register(xcc, static_cast<u32>(packet.dst) + i,
                            static_cast<u32>(value >> (32 * i))))
          return Outcome::Stop;
    } else if (auto fault =
                   write_memory(packet.dst, std::span(reinterpret_cast<const u8*>(&value), bytes),
                                packet.wr_confirm)) {
      return stopped(std::move(*fault));
    }
  }
  return Outcome::Done;
}

// So many turns of its queue a write may be on its way: long enough for a kernel behind it to
// begin. A word goes whole, for others may poll it; what else there is is a copy's, of bytes.
std::optional<MemoryFault> Pm4Interpreter::write_memory(u64 va, std::span<const u8> bytes,
                                                        bool confirmed) {
  constexpr u32 kLongestFlight = 256;
  if (!confirmed && gpu_.adversarial)
    return gpu_.memory.post(va, bytes, static_cast<u32>(gpu_.random() % kLongestFlight),
                            fmt::format("{}: {}", where(), describe()));
  // A confirmation is of all that was sent off before, too.
  gpu_.memory.land();
  if (bytes.size() != sizeof(u32) || va % sizeof(u32) != 0)
    return gpu_.memory.write(Client::CommandProcessor, va, bytes);
  u32 word = 0;
  std::memcpy(&word, bytes.data(), sizeof word);
  return gpu_.memory.store(Client::CommandProcessor, va, word);
}

// In blocks, so that a fault is found where it is and overlapping ranges are as bad as they are.
std::optional<MemoryFault> Pm4Interpreter::copy_bytes(const hw::DmaData& packet) {
  std::array<u8, 4096> block;
  for (u64 done = 0; done < packet.byte_count;) {
    u64 now = std::min<u64>(block.size(), packet.byte_count - done);
    std::span<u8> bytes = std::span(block).first(now);
    if (packet.src_sel == hw::DmaSource::Data) {
      for (u64 i = 0; i < now; ++i) bytes[i] = static_cast<u8>(packet.src >> 8 * ((done + i) % 4));
    } else if (auto fault = gpu_.memory.read(Client::CommandProcessor, packet.src + done, bytes)) {
      return fault;
    }
    if (packet.dst_sel != hw::DmaTarget::Nowhere) {
      if (auto fault = write_memory(packet.dst + done, bytes, packet.cp_sync)) return fault;
      if (packet.src_sel != hw::DmaSource::Data)
        gpu_.memory.copied(packet.src + done, packet.dst + done, now);
    }
    done += now;
  }
  return std::nullopt;
}

Outcome Pm4Interpreter::execute(const hw::DmaData& packet) {
  if (packet.src_sel == hw::DmaSource::Gds || packet.dst_sel == hw::DmaTarget::Gds ||
      packet.src_is_register || packet.dst_is_register || packet.src_stays || packet.dst_stays)
    return stopped(describe() + ": only copies and fills of memory are emulated");
  if (packet.raw_wait) gpu_.memory.land();
  // Each XCC that executes it copies.
  for (u32 xcc = 0; xcc < gpu_.xccs; ++xcc)
    if (mask_ >> xcc & 1)
      if (auto fault = copy_bytes(packet)) return stopped(std::move(*fault));
  return Outcome::Done;
}

Outcome Pm4Interpreter::execute(const hw::WriteData& packet) {
  std::span<const u32> payload = std::span<const u32>(words_).subspan(hw::WriteData::kWords);
  if (payload.empty() && report_violation(kPacketSize, "WRITE_DATA without data"))
    return Outcome::Stop;
  if (!check_graphics("a graphics engine", packet.engine_sel != 0)) return Outcome::Stop;
  if (packet.dst_sel == hw::WriteTarget::Register) {
    for (u32 xcc = 0; xcc < gpu_.xccs; ++xcc)
      for (usize i = 0; i < payload.size() && (mask_ >> xcc & 1); ++i)
        if (!write_register(xcc, static_cast<u32>(packet.addr + (packet.one_addr ? 0 : i)),
                            payload[i]))
          return Outcome::Stop;
    return Outcome::Done;
  }
  if (packet.dst_sel != hw::WriteTarget::Memory && packet.dst_sel != hw::WriteTarget::Tcl2)
    return stopped(describe() + ": this target is not emulated");
  if (packet.addr % 4 != 0 && report_violation(kEopAlignment, describe())) return Outcome::Stop;
  for (usize i = 0; i < payload.size(); ++i) {
    const u64 va = (packet.addr & ~u64{3}) + (packet.one_addr ? 0 : i * 4);
    const std::span<const u8> bytes(reinterpret_cast<const u8*>(&payload[i]), sizeof(u32));
    if (auto fault = write_memory(va, bytes, packet.wr_confirm)) return stopped(std::move(*fault));
  }
  return Outcome::Done;
}

Outcome Pm4Interpreter::execute(const hw::AtomicMem& packet) {
  const bool wide = (packet.atomic & hw::AtomicMem::k64Bit) != 0;
  const u8 operation = packet.atomic & (hw::AtomicMem::k64Bit - 1);
  const GuestMemory::Update apply =
      wide ? atomic_update<u64>(operation) : atomic_update<u32>(operation);
  const bool loops = packet.command == hw::AtomicCommand::LoopUntilEqual;
  constexpr u8 kCompareSwap = 0x08;
  if (!apply || packet.command > hw::AtomicCommand::SendAndContinue ||
      (loops && operation != kCompareSwap))
    return stopped(describe() + ": this operation or command is not emulated");
  const unsigned bytes = wide ? 8 : 4;
  if (packet.addr % bytes != 0 && report_violation(kEopAlignment, describe())) return Outcome::Stop;
  for (u32 xcc = 0; xcc < gpu_.xccs; ++xcc) {
    if (!(mask_ >> xcc & 1)) continue;
    u64 before = 0;
    if (auto fault =
            gpu_.memory.atomic(packet.addr, bytes, apply, packet.data, packet.compare, before))
      return stopped(std::move(*fault));
    const u64 mask = wide ? ~u64{0} : ~u32{0};
    const Queue::Wait wait{packet.addr, hw::Compare::Equal, mask, packet.compare & mask, before};
    if (!loops) continue;
    if (before == wait.reference) {
      queue_.note_wait_over(wait, bytes);
      continue;
    }
    queue_.note_wait(wait);
    return Outcome::Wait;
  }
  return Outcome::Done;
}

}  // namespace doorbell::emu::amdgpu
