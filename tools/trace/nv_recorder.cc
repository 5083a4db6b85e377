// Follows a client's objects as far as its channels need them.
#include "tools/trace/nv_recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>

#include "base/util/words.h"
#include "drivers/nv/hw/host/gp_entry.h"
#include "drivers/nv/hw/host/user_control.h"
#include "drivers/nv/hw/rm/control.h"
#include "drivers/nv/hw/rm/object.h"
#include "drivers/nv/hw/uvm/ioctl.h"
#include "tools/trace/nv_call.h"

namespace doorbell::tools {

using namespace nv::hw;

namespace {

constexpr u64 kMostConstants = u64{64} << 10;  // bytes of a constant buffer

// "580.95.05 ..." anywhere in a text: the first number of three digits before a dot.
std::optional<DriverAbi> abi_in(std::string_view text) {
  for (usize at = 0; at + 4 <= text.size(); ++at) {
    u32 release = 0;
    const char* begin = text.data() + at;
    const auto [end, error] = std::from_chars(begin, begin + 3, release);
    const bool fresh = at == 0 || text[at - 1] == ' ';
    if (fresh && error == std::errc() && end == begin + 3 && *end == '.')
      return driver_abi(release);
  }
  return std::nullopt;
}

DriverAbi abi_of_machine() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  return abi_in(line).value_or(DriverAbi::R580);
}

}  // namespace

NvRecorder::NvRecorder(emu::Trace* trace, std::string folder)
    : trace_(trace), folder_(std::move(folder)), abi_(abi_of_machine()) {}

bool NvRecorder::is_uvm(int descriptor, unsigned long request) {
  // A descriptor's number is used again; escapes have larger requests. [uvm_linux_ioctl.h]
  constexpr unsigned long kMostUvm = 0x200, kDeinitialize = 0x30000002;
  if (request >= kMostUvm && request != UvmInitialize::kRequest && request != kDeinitialize)
    return false;
  const auto known = std::ranges::find(uvm_files_, descriptor);
  if (known == uvm_files_.end() && request == UvmInitialize::kRequest) {
    uvm_files_.push_back(descriptor);
    return true;
  }
  return known != uvm_files_.end();
}

bool NvRecorder::ioctl(int descriptor, unsigned long request, const void* argument, int error) {
  std::lock_guard lock(mutex_);
  if (is_uvm(descriptor, request)) {
    const auto number = static_cast<u32>(request);
    trace_->write({.kind = "ioctl", .text = text_of_uvm(number, argument, abi_, error)});
    if (error == 0) uvm_call(number, argument);
    return true;
  }
  const std::optional<NvEscape> escape = escape_of(request, argument);
  if (!escape) return false;
  if (error == 0) learn_version(*escape);
  trace_->write({.kind = "ioctl", .text = text_of(*escape, abi_, error)});
  if (error == 0) escape_call(*escape);
  return true;
}

// Sandboxes do not let the command through: then it is what /proc has, or an old guess.
void NvRecorder::learn_version(const NvEscape& escape) {
  const auto control = record_of<RmControl>(escape.argument, abi_);
  if (escape.number != RmControl::kEscape || !control || control->status != 0 ||
      control->cmd != GetBuildVersion::kCommand)
    return;
  const auto answer = record_at<GetBuildVersion>(control->params, abi_);
  if (!answer) return;
  const auto* text = reinterpret_cast<const char*>(answer->driver_version.data());
  abi_ = abi_in({text, strnlen(text, answer->driver_version.size())}).value_or(abi_);
}

void NvRecorder::escape_call(const NvEscape& escape) {
  if (escape.number == RmAlloc::kEscape) return alloc_call(escape);
  if (escape.number == RmFree::kEscape) {
    const auto free = record_of<RmFree>(escape.argument, abi_);
    if (!free || free->status != 0) return;
    std::erase_if(channels_, [&](Channel& channel) {
      const bool gone = channel.key.first == free->root &&
                        (channel.key.second == free->object_old || free->root == free->object_old);
      if (gone) poll(&channel);
      return gone;
    });
    return;
  }
  map_call(escape);
}

void NvRecorder::alloc_call(const NvEscape& escape) {
  const auto alloc = alloc_of(escape, abi_);
  if (!alloc || alloc->status != 0 ||
      kind_of(static_cast<ClassId>(alloc->class_id)) != ClassKind::Channel)
    return;
  const auto parameters = record_at<ChannelParameters>(alloc->params, abi_);
  if (!parameters || parameters->gp_fifo_entries == 0) return;
  // Without memory of the client's the registers are in the channel itself.
  const u32 userd = parameters->userd_memory[0];
  channels_.push_back({.key = {alloc->root, alloc->object_new},
                       .ring = parameters->gp_fifo_offset,
                       .entries = parameters->gp_fifo_entries,
                       .userd = {alloc->root, userd != 0 ? userd : alloc->object_new},
                       .userd_offset = userd != 0 ? parameters->userd_offset[0] : 0});
}

void NvRecorder::map_call(const NvEscape& escape) {
  if (escape.number == RmMapMemory::kEscape) {
    const auto map = record_of<RmMapMemory>(escape.argument, abi_);
    if (map && map->params.status == 0)
      memory_.prepare(map->fd, {map->params.client, map->params.memory}, map->params.offset,
                      map->params.length);
  } else if (escape.number == RmAllocMemory::kEscape) {
    const auto host = record_of<RmAllocMemory>(escape.argument, abi_);
    if (host && host->params.status == 0 && host->params.memory != 0)
      memory_.add_host({host->params.root, host->params.object_new}, host->params.memory,
                       host->params.limit + 1);
  } else if (escape.number == RmMapMemoryDma::kEscape) {
    const auto map = record_of<RmMapMemoryDma>(escape.argument, abi_);
    if (map && map->status == 0)
      memory_.map_gpu(map->dma_offset, map->length, {map->client, map->memory}, map->offset);
  }
}

void NvRecorder::uvm_call(u32 request, const void* argument) {
  const u64 at = reinterpret_cast<u64>(argument);
  if (request == UvmMapExternalAllocation::kRequest) {
    const auto map = record_at<UvmMapExternalAllocation>(at, abi_);
    if (map && map->rm_status == 0)
      memory_.map_gpu(map->base, map->length, {map->client, map->memory}, map->offset);
  } else if (request == UvmFree::kRequest) {
    if (const auto free = record_at<UvmFree>(at, abi_)) memory_.unmap_gpu(free->base);
  }
}

void NvRecorder::mapped(int descriptor, u64 address, u64 bytes) {
  std::lock_guard lock(mutex_);
  if (!memory_.map_host(descriptor, address, bytes)) return;
  trace_->write({.kind = "map", .text = fmt::format("bytes={:#x} -> {:#x}", bytes, address)});
}

void NvRecorder::unmapped(u64 address, u64 bytes) {
  std::lock_guard lock(mutex_);
  for (Channel& channel : channels_) poll(&channel);
  memory_.unmap_host(address, bytes);
}

bool NvRecorder::poll() {
  std::lock_guard lock(mutex_);
  for (Channel& channel : channels_) poll(&channel);
  return !channels_.empty();
}

void NvRecorder::poll(Channel* channel) {
  const u32 put = put_of(*channel);
  if (put == channel->next) return;
  const u32 count = (put + channel->entries - channel->next) % channel->entries;
  const std::vector<u32> words = ring_words(*channel, channel->next, count);
  if (words.empty())
    trace_->write({.kind = "lost",
                   .queue = static_cast<int>(channel->key.second),
                   .text = "the ring cannot be read by the host"});
  channel->next = put;
  submit(channel, words);
}

u32 NvRecorder::put_of(const Channel& channel) const {
  const auto host = memory_.host_of(channel.userd, channel.userd_offset + kUserdGpPut, sizeof(u32));
  if (const auto bytes = host ? memory_.read_host(*host, sizeof(u32)) : std::nullopt) {
    u32 put = 0;
    std::memcpy(&put, bytes->data(), sizeof put);
    return put < channel.entries ? put : channel.next;
  }
  // Entries are not empty, and a new ring is. Reading memory of the GPU is slow: a few are read.
  constexpr u32 kMostAtOnce = 64;
  const u32 left = std::min(channel.entries - 1 - channel.next, kMostAtOnce);
  const std::vector<u32> words = ring_words(channel, channel.next, left);
  u32 used = 0;
  while (used < words.size() / GpEntry::kWords &&
         (words[used * GpEntry::kWords] != 0 || words[used * GpEntry::kWords + 1] != 0))
    ++used;
  return channel.next + used;
}

std::vector<u32> NvRecorder::ring_words(const Channel& channel, u32 first, u32 count) const {
  constexpr u64 kEntryBytes = GpEntry::kWords * sizeof(u32);
  std::vector<u32> words;
  const auto add = [&](u32 from, u32 entries) {
    const auto bytes = memory_.read(channel.ring + from * kEntryBytes, entries * kEntryBytes);
    if (!bytes) return false;
    const std::vector<u32> more = words_of(*bytes);
    words.insert(words.end(), more.begin(), more.end());
    return true;
  };
  const u32 before_end = std::min(count, channel.entries - first);
  if (!add(first, before_end) || (count > before_end && !add(0, count - before_end))) return {};
  return words;
}

void NvRecorder::submit(Channel* channel, std::span<const u32> words) {
  if (words.empty()) return;
  std::vector<Part> parts;
  const auto memory = [&](u64 address, u32 count) -> std::optional<std::vector<u32>> {
    auto bytes = memory_.read(address, count * sizeof(u32));
    if (!bytes) return std::nullopt;
    std::vector<u32> read = words_of(*bytes);
    parts.push_back({address, std::move(*bytes)});
    return read;
  };
  const auto read = [&](u8 kind, std::span<const u32> rest) {
    return channel->reader.read(static_cast<StreamKind>(kind), rest);
  };
  std::string text;
  walk_packets(static_cast<u8>(StreamKind::Gpfifo), words, read, memory,
               [&](const StreamPacket& packet, int depth) {
                 const std::string line = indented_text(packet, depth);
                 text += line + '\n';
                 trace_->write({.kind = "packet",
                                .queue = static_cast<int>(channel->key.second),
                                .text = line,
                                .fields = to_json(packet)});
                 if (packet.name == "QMD") read_constants(packet, &parts);
               });
  if (!folder_.empty()) keep(*channel, words, parts, text);
}

void NvRecorder::read_constants(const StreamPacket& qmd, std::vector<Part>* parts) const {
  const auto value_of = [&](const std::string& name) {
    const auto found = std::ranges::find(qmd.fields, name, &PacketField::name);
    return found == qmd.fields.end() ? u64{0} : found->value;
  };
  for (u32 bank = 0; bank < Qmd::elements(QmdField::ConstantBufferAddr); ++bank) {
    if (value_of(fmt::format("CONSTANT_BUFFER_VALID({})", bank)) == 0) continue;
    const u64 address = value_of(fmt::format("CONSTANT_BUFFER_ADDR({})", bank));
    const u64 bytes = value_of(fmt::format("CONSTANT_BUFFER_SIZE({})", bank));
    if (bytes == 0 || bytes > kMostConstants) continue;
    if (auto read = memory_.read(address, bytes)) parts->push_back({address, std::move(*read)});
  }
}

}  // namespace doorbell::tools
