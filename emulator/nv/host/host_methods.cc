// The host engine's own methods: binding classes, semaphores, waiting.
#include <fmt/format.h>

#include <cstring>

#include "drivers/nv/hw/methods.h"
#include "emulator/nv/host/gpu.h"
#include "emulator/nv/host/records.h"
#include "emulator/nv/rules.h"

namespace doorbell::emu::nvgpu {

namespace {

// [clc56f.h NVC56F_SEM_EXECUTE_REDUCTION]
enum Reduction : u8 {
  kMin = 0,
  kMax = 1,
  kXor = 2,
  kAnd = 3,
  kOr = 4,
  kAdd = 5,
  kInc = 6,
  kDec = 7
};

u64 reduce(const hw::Semaphore& semaphore, u64 old, u64 given) {
  const unsigned drop = semaphore.payload_64bit ? 0 : 32;
  const auto less = [&](u64 a, u64 b) {
    if (semaphore.reduction_unsigned) return a << drop < b << drop;
    return static_cast<i64>(a << drop) < static_cast<i64>(b << drop);
  };
  switch (semaphore.reduction) {
    case kMin: return less(given, old) ? given : old;
    case kMax: return less(old, given) ? given : old;
    case kXor: return old ^ given;
    case kAnd: return old & given;
    case kOr: return old | given;
    case kAdd: return old + given;
    case kInc: return old >= given ? 0 : old + 1;
    default: return old == 0 || old > given ? given : old - 1;
  }
}

// [dev_pbdma.ref.txt, "Semaphore signedness option": the table]
bool has_reduction(const hw::Semaphore& semaphore) {
  const bool is_signed = !semaphore.reduction_unsigned;
  switch (semaphore.reduction) {
    case kAdd: return !(semaphore.payload_64bit && is_signed);
    case kInc:
    case kDec: return !semaphore.payload_64bit && !is_signed;
    default: return true;
  }
}

u64 load(const u8* host, bool is_64bit) {
  if (is_64bit) return __atomic_load_n(reinterpret_cast<const u64*>(host), __ATOMIC_ACQUIRE);
  return __atomic_load_n(reinterpret_cast<const u32*>(host), __ATOMIC_ACQUIRE);
}

void store(u8* host, u64 value, bool is_64bit) {
  if (is_64bit)
    __atomic_store_n(reinterpret_cast<u64*>(host), value, __ATOMIC_RELEASE);
  else
    __atomic_store_n(reinterpret_cast<u32*>(host), static_cast<u32>(value), __ATOMIC_RELEASE);
}

bool is_acquire(hw::SemOperation operation) {
  return operation != hw::SemOperation::Release && operation != hw::SemOperation::Reduction;
}

// A bit that is set and not for the operation.
std::string_view unused_bits(const hw::Semaphore& semaphore) {
  const bool acquires = is_acquire(semaphore.operation);
  const bool reduces = semaphore.operation == hw::SemOperation::Reduction;
  if (!acquires && semaphore.acquire_switch_tsg) return "ACQUIRE_SWITCH_TSG";
  if (acquires && semaphore.release_wfi) return "RELEASE_WFI";
  if (acquires && semaphore.release_timestamp) return "RELEASE_TIMESTAMP";
  if (!reduces && (semaphore.reduction != 0 || semaphore.reduction_unsigned)) return "REDUCTION";
  return {};
}

}  // namespace

void Gpu::run_host_method(Channel& channel, u32 subchannel, u32 method, u32 value) {
  if (hw::method_name(hw::ClassKind::Channel, method).empty() &&
      breaks(channel, ChannelError::Pbdma, kHostMethod,
             fmt::format("{}: the host engine has no method {:#x}", name(channel), method)))
    return;
  channel.host_methods[method / 4] = value;
  switch (method) {
    case hw::SetObject::kMethod: bind(channel, subchannel, value); break;
    case hw::NonStallInterrupt::kMethod: options_.interrupt(); break;
    case hw::Semaphore::kMethod + 16: run_semaphore(channel); break;
    case hw::HostWaitForIdle::kMethod: drain(channel); break;
    case hw::MemOp::kMethod + 12: {
      const auto operation = record_of<hw::MemOp>(channel.host_methods).operation;
      const bool is_allowed = operation == hw::MemOperation::Membar ||
                              operation == hw::MemOperation::L2SysmemInvalidate ||
                              operation == hw::MemOperation::L2FlushDirty ||
                              operation == hw::MemOperation::L2PeermemInvalidate;
      if (!is_allowed)
        breaks(channel, ChannelError::Pbdma, kHostMethod,
               fmt::format("{}: MEM_OP_D {:#x} is not for user channels", name(channel), value));
      break;
    }
    case 0x0004:  // ILLEGAL
    case 0x0084:  // CLEAR_FAULTED
      breaks(channel, ChannelError::Pbdma, kHostMethod,
             fmt::format("{}: method {:#x} is not for user channels", name(channel), method));
      break;
    default: break;
  }
}

void Gpu::bind(Channel& channel, u32 subchannel, u32 value) {
  const auto object = record_of_word<hw::SetObject>(value);
  if (value >> 16 != 0 &&
      breaks(channel, ChannelError::Pbdma, kHostMethod,
             fmt::format("{}: SET_OBJECT {:#x}: bits beside the class are set; an engine in 20:16 "
                         "is for software methods",
                         name(channel), value)))
    return;
  if (!channel.classes.contains(object.class_id))
    return stop(channel, ChannelError::ClassError, kHostSubchannel,
                fmt::format("{}: SET_OBJECT of class {:#06x}, of which the channel has no object",
                            name(channel), static_cast<u32>(object.class_id)));
  if (channel.bound[subchannel] != object.class_id) channel.methods[subchannel].clear();
  channel.bound[subchannel] = object.class_id;
}

void Gpu::run_semaphore(Channel& channel) {
  const std::span<const u32, 5> words(channel.host_methods.data() + hw::Semaphore::kMethod / 4, 5);
  const auto semaphore = doorbell::decode<hw::Semaphore>(words);
  const auto refuse = [&](std::string_view why) {
    stop(channel, ChannelError::Pbdma, kHostSemaphore,
         fmt::format("{}: SEM_EXECUTE {:#x} at {:#x}: {}", name(channel), words[4], semaphore.addr,
                     why));
  };
  const auto again = encode(semaphore);
  if (!std::equal(words.begin(), words.end(), again.begin()) ||
      semaphore.addr >> model().address_bits != 0)
    return refuse("reserved bits are set");
  if (semaphore.operation > hw::SemOperation::Reduction || semaphore.reduction > kDec)
    return refuse("no such operation");
  if (semaphore.operation == hw::SemOperation::Reduction && !has_reduction(semaphore))
    return refuse("the reduction does not exist for that size and sign");
  if (const std::string_view unused = unused_bits(semaphore);
      !unused.empty() &&
      breaks(channel, ChannelError::Pbdma, kHostUnused,
             fmt::format("{}: SEM_EXECUTE {:#x} at {:#x}: {} does not use {}", name(channel),
                         words[4], semaphore.addr, hw::name_of(semaphore.operation), unused)))
    return;
  const bool has_time = semaphore.release_timestamp && !is_acquire(semaphore.operation);
  const u64 bytes = has_time ? 16 : semaphore.payload_64bit ? 8 : 4;
  if (semaphore.addr % bytes != 0)
    return refuse(fmt::format("not a multiple of its {} bytes", bytes));
  if (!is_acquire(semaphore.operation)) return release(channel, semaphore);
  channel.acquire = semaphore;
  channel.waits = !is_acquired(channel);
}

void Gpu::release(Channel& channel, const hw::Semaphore& semaphore) {
  if (semaphore.release_wfi) drain(channel);
  if (channel.group->error != 0) return;
  const u64 bytes = semaphore.release_timestamp ? 16 : semaphore.payload_64bit ? 8 : 4;
  u8* host = at(channel, semaphore.addr, bytes, true, "a semaphore");
  if (host == nullptr) return;
  const bool is_64bit = semaphore.payload_64bit;
  u64 value = is_64bit ? semaphore.payload : semaphore.payload & 0xffff'ffff;
  if (semaphore.operation == hw::SemOperation::Reduction)
    value = reduce(semaphore, load(host, is_64bit), value);
  const bool writes_8 = is_64bit || semaphore.release_timestamp;
  if (!hand_over(channel, channel.races ? &channel.races->processor() : nullptr, semaphore.addr,
                 host, is_64bit ? value : value & 0xffff'ffff, writes_8 ? 8 : 4))
    return;
  if (!semaphore.release_timestamp) return store(host, value, is_64bit);
  // The time first; behind a payload of 32 bits there are zeros.
  store(host + 8, options_.now_ns(), true);
  store(host, is_64bit ? value : value & 0xffff'ffff, true);
}

bool Gpu::is_acquired(Channel& channel) {
  const hw::Semaphore& semaphore = channel.acquire;
  const u8* host =
      at(channel, semaphore.addr, semaphore.payload_64bit ? 8 : 4, false, "a semaphore");
  if (host == nullptr || !passes(semaphore, load(host, semaphore.payload_64bit))) return false;
  note_acquired(channel, host);
  return true;
}

bool Gpu::passes(const hw::Semaphore& semaphore, u64 memory) {
  const u64 mask = semaphore.payload_64bit ? ~u64{0} : 0xffff'ffff;
  const u64 payload = semaphore.payload & mask;
  const unsigned drop = semaphore.payload_64bit ? 0 : 32;
  switch (semaphore.operation) {
    case hw::SemOperation::Acquire: return memory == payload;
    case hw::SemOperation::AcqStrictGeq: return memory >= payload;
    case hw::SemOperation::AcqCircGeq: return static_cast<i64>((memory - payload) << drop) >= 0;
    case hw::SemOperation::AcqAnd: return (memory & payload) != 0;
    case hw::SemOperation::AcqNor: return (~(memory | payload) & mask) != 0;
    default: return true;
  }
}

}  // namespace doorbell::emu::nvgpu
