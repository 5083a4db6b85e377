// From entries of the ring to methods.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "drivers/nv/hw/host/gp_entry.h"
#include "drivers/nv/hw/methods.h"
#include "emulator/nv/host/gpu.h"
#include "emulator/nv/host/records.h"
#include "emulator/nv/rules.h"

namespace doorbell::emu::nvgpu {

namespace {

// Bits that classes before Hopper do not have. [clc7c0.h, clc7b5.h against clcbc0.h, clc8b5.h]
u32 bits_of_hopper(hw::ClassKind kind, u32 method) {
  constexpr u32 kUpper = 0xffff'ffff << 17;  // of an address
  if (kind != hw::ClassKind::Compute) return 0;
  switch (method) {
    case hw::LocalMemory::kMethod:
    case hw::InlineTarget::kMethod + 8: return kUpper;
    case hw::SendSignalingPcas2B::kMethod: return 0x00ff'ff00;  // SELECT, OFFSET_MINUS_ONE
    default: return 0;
  }
}

// Fields that are not emulated: MAX_PLURAL_TPC_GPC_COUNT, MAX_SINGLETON_TPC_GPC_COUNT. [clcbc0.h
// SET_SHADER_LOCAL_MEMORY_NON_THROTTLED_C]
u32 bits_not_emulated(hw::ClassKind kind, u32 method) {
  const bool is_it = kind == hw::ClassKind::Compute && method == hw::LocalMemorySize::kMethod + 8;
  return is_it ? 0xffff'0000 : 0;
}

// Bits that are set although no field of the method has them, or one that is not emulated.
u32 stray_bits(hw::ClassKind kind, u32 method, u32 value, bool is_hopper) {
  u32 strays = value & bits_not_emulated(kind, method);
  if (!is_hopper) strays |= value & bits_of_hopper(kind, method);
  hw::visit_method(kind, method, [&]<class Record>(std::type_identity<Record>) {
    strays |= value & ~fields_mask<Record>()[(method - Record::kMethod) / 4];
  });
  return strays;
}

}  // namespace

FetchHook::Verdict Gpu::show(const Fetched& what, std::span<u32> words) {
  return options_.hook == nullptr ? FetchHook::Verdict::Take : options_.hook->fetched(what, words);
}

void Gpu::fetch_entry(Channel& channel) {
  const u32 index = channel.get, next = (index + 1) % channel.entries;
  channel.get = next;
  if (channel.races) begin_race_packet(channel);
  ++channel.fetched;
  u8* host = at(channel, channel.ring + u64{8} * index, 8, false, "the ring");
  if (host == nullptr) return;
  std::array<u32, 2> words;
  std::memcpy(words.data(), host, sizeof words);
  const FetchHook::Verdict verdict = show(
      {.kind = Fetched::Kind::Entry, .channel = channel.id, .is_last = next == channel.put}, words);
  if (verdict == FetchHook::Verdict::Skip) return;
  if (verdict == FetchHook::Verdict::Again) channel.get = index;
  if (verdict == FetchHook::Verdict::Later && next != channel.put) {
    u8* other = at(channel, channel.ring + u64{8} * next, 8, false, "the ring");
    if (other == nullptr) return;
    std::swap_ranges(other, other + sizeof words, reinterpret_cast<u8*>(words.data()));
  }
  const auto entry = doorbell::decode<hw::GpEntry>(words);
  const auto control = doorbell::decode<hw::GpControlEntry>(words);
  write_trace(channel, "packet", to_text(channel.reader.read(hw::StreamKind::Gpfifo, words)));
  const bool is_control = entry.length == 0;
  if ((is_control ? has_strays<hw::GpControlEntry>(words) : has_strays<hw::GpEntry>(words)) ||
      (is_control && control.opcode != hw::GpOpcode::Nop)) {
    stop(
        channel, ChannelError::Pbdma, kHostEntry,
        fmt::format("{}: entry {} is {:#010x} {:#010x}", name(channel), index, words[0], words[1]));
    return;
  }
  channel.at = entry.addr;
  channel.words = entry.length;
}

void Gpu::read_header(Channel& channel) {
  const u8* host = at(channel, channel.at, 4, false, "the pushbuffer");
  if (host == nullptr) return;
  u32 word = 0;
  std::memcpy(&word, host, sizeof word);
  channel.at += 4;
  --channel.words;
  show({Fetched::Kind::Header, channel.id,
        channel.bound[record_of_word<hw::MethodHeader>(word).subchannel]},
       {&word, 1});
  if (word == 0) return;
  const auto header = record_of_word<hw::MethodHeader>(word);
  const auto refuse = [&](std::string_view why) {
    stop(channel, ChannelError::Pbdma, kHostHeader,
         fmt::format("{}: the header {:#010x} at {:#x}: {}", name(channel), word, channel.at - 4,
                     why));
  };
  switch (header.op) {
    case hw::MethodOp::EndPbSegment: channel.words = 0; return;
    case hw::MethodOp::Immediate:
      run_method(channel, header.subchannel, header.method, header.count);
      return;
    case hw::MethodOp::Inc:
    case hw::MethodOp::NonInc:
    case hw::MethodOp::OneInc: break;
    default: return refuse("no such operation");
  }
  if (encode(header)[0] != word) return refuse("reserved bits are set");
  if (header.count > channel.words)
    return refuse(
        fmt::format("{} words of data, the segment has {} left", header.count, channel.words));
  channel.header = header;
  channel.data = header.count;
  if (!options_.trace->enabled() || header.count == 0) return;
  const u8* data = channel.space().at(channel.at, u64{4} * header.count, false);
  if (data == nullptr) return;
  std::vector<u32> words(1 + header.count, word);
  std::memcpy(words.data() + 1, data, u64{4} * header.count);
  write_trace(channel, "packet", to_text(channel.reader.read(hw::StreamKind::Pushbuffer, words)));
}

void Gpu::run_data(Channel& channel) {
  while (channel.data > 0 && !channel.waits && channel.group->error == 0) {
    const u8* host = at(channel, channel.at, 4, false, "the pushbuffer");
    if (host == nullptr) return;
    u32 value = 0;
    std::memcpy(&value, host, sizeof value);
    const u32 number = channel.header.count - channel.data;
    const u32 steps = channel.header.op == hw::MethodOp::Inc      ? number
                      : channel.header.op == hw::MethodOp::OneInc ? std::min(number, 1u)
                                                                  : 0;
    channel.at += 4;
    --channel.words;
    --channel.data;
    run_method(channel, channel.header.subchannel, channel.header.method + 4 * steps, value);
  }
}

void Gpu::run_method(Channel& channel, u32 subchannel, u32 method, u32 value) {
  const FetchHook::Verdict verdict =
      show({Fetched::Kind::Data, channel.id, channel.bound[subchannel], method}, {&value, 1});
  if (verdict == FetchHook::Verdict::Skip) return;
  if (verdict == FetchHook::Verdict::Later && !channel.later) {
    channel.later = Channel::Method{subchannel, method, value};
    return;
  }
  perform(channel, subchannel, method, value);
  if (verdict == FetchHook::Verdict::Again) run_method(channel, subchannel, method, value);
  if (const auto later = std::exchange(channel.later, std::nullopt))
    perform(channel, later->subchannel, later->method, later->value);
}

void Gpu::perform(Channel& channel, u32 subchannel, u32 method, u32 value) {
  if (method < hw::kEngineMethods) return run_host_method(channel, subchannel, method, value);
  const hw::ClassId bound = channel.bound[subchannel];
  const hw::ClassKind kind = hw::kind_of(bound);
  if (kind != hw::ClassKind::Compute && kind != hw::ClassKind::Copy)
    return stop(channel, ChannelError::ClassError, kHostSubchannel,
                fmt::format("{}: method {:#x} on subchannel {}, to which no class is bound",
                            name(channel), method, subchannel));
  if (hw::method_name(kind, method).empty() &&
      breaks(channel, ChannelError::ClassError, kHostMethod,
             fmt::format("{}: {} has no method {:#x}, or none that is emulated", name(channel),
                         hw::name_of(bound), method)))
    return;
  if (const u32 strays = stray_bits(kind, method, value, model().qmd_major >= 4);
      strays != 0 &&
      breaks(channel, ChannelError::ClassError, kHostMethod,
             fmt::format("{}: {} {:#x}: bits {:#x} belong to no field, or to one that is not "
                         "emulated",
                         name(channel), hw::method_name(kind, method), value, strays)))
    return;
  std::vector<u32>& methods = channel.methods[subchannel];
  if (methods.empty()) methods.resize(Channel::kMethods);
  methods[method / 4] = value;
  if (kind == hw::ClassKind::Copy) {
    if (method == hw::CopyLaunch::kMethod) launch_copy(channel, methods, value);
  } else {
    run_compute(channel, methods, method, value);
  }
}

}  // namespace doorbell::emu::nvgpu
