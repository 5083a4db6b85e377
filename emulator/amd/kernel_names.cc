// The kernel's descriptor, whose entry offset leads to the code, then the note on the descriptor's
// far side: linked files have both before the code, relocatable ones behind it.
// [LLVM AMDGPUUsage, "Code Object Metadata", "Kernel Descriptor"]
#include "emulator/amd/kernel_names.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace doorbell::emu::amdgpu {
namespace {

// How far a descriptor may lie from the code, and the note from the descriptor.
constexpr u64 kFar = u64{1} << 20;
constexpr u64 kDescriptorBytes = 64, kEntryOffset = 16;
// The owner's length, the description's, NT_AMDGPU_METADATA, "AMDGPU".
constexpr u64 kNoteHeader = 20, kNoteAlign = 4;
constexpr u32 kNoteType = 32;
constexpr std::string_view kOwner{"AMDGPU\0\0", 8};

// What lies around the code, by address.
struct Window {
  u64 start = 0;
  std::span<const u8> bytes;

  template <class T>
  std::optional<T> read(u64 at) const {
    if (at < start || at - start > bytes.size() || sizeof(T) > bytes.size() - (at - start))
      return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data() + (at - start), sizeof value);
    return value;
  }
};

bool is_descriptor(const Window& window, u64 at, u64 code) {
  const std::optional<u64> offset = window.read<u64>(at + kEntryOffset);
  return offset && at + *offset == code;
}

std::optional<u64> find_descriptor(const Window& window, u64 code) {
  const u64 near = code / kDescriptorBytes * kDescriptorBytes;
  for (u64 away = kDescriptorBytes; away <= kFar; away += kDescriptorBytes) {
    if (away <= near && is_descriptor(window, near - away, code)) return near - away;
    if (is_descriptor(window, near + away, code)) return near + away;
  }
  return std::nullopt;
}

// The metadata, or nothing.
std::string_view note_at(const Window& window, u64 at) {
  const std::optional<u32> length = window.read<u32>(at + 4);
  if (window.read<u32>(at) != u32{7} || window.read<u32>(at + 8) != kNoteType || !length) return {};
  if (!window.read<u8>(at + kNoteHeader + *length)) return {};
  const auto* note = reinterpret_cast<const char*>(window.bytes.data() + (at - window.start));
  if (std::string_view(note + 12, kOwner.size()) != kOwner) return {};
  return {note + kNoteHeader, *length};
}

std::string_view find_note(const Window& window, u64 descriptor, bool is_before) {
  const u64 from = descriptor / kNoteAlign * kNoteAlign;
  for (u64 away = kNoteAlign; away <= std::min(kFar, from); away += kNoteAlign)
    if (std::string_view note = note_at(window, is_before ? from - away : from + away);
        !note.empty())
      return note;
  return {};
}

// The value of `.symbol`, which each kernel has once, without ".kd". [MessagePack: fixstr, str 8]
std::string only_symbol(std::string_view metadata) {
  constexpr std::string_view kKey = "\xa7.symbol", kSuffix = ".kd";
  const usize at = metadata.find(kKey);
  if (at == std::string_view::npos || metadata.find(kKey, at + 1) != std::string_view::npos)
    return "";
  metadata.remove_prefix(at + kKey.size());
  if (metadata.size() < 2) return "";
  const u8 head = static_cast<u8>(metadata[0]);
  const bool is_long = head == 0xd9;
  const usize length = is_long ? static_cast<u8>(metadata[1]) : head & 0x1fu;
  if (!is_long && (head & 0xe0) != 0xa0) return "";
  std::string_view name = metadata.substr(is_long ? 2 : 1, length);
  if (name.ends_with(kSuffix)) name.remove_suffix(kSuffix.size());
  return std::string(name);
}

}  // namespace

std::string kernel_name_at(const AddressSpace& space, u64 code) {
  const Range* range = space.find(code);
  if (range == nullptr || range->host == nullptr) return "";
  const u64 start = std::max(range->start, code > 2 * kFar ? code - 2 * kFar : 0);
  const u64 end = std::min(range->end, code + 2 * kFar);
  const Window window{start, {range->host + (start - range->start), end - start}};
  const std::optional<u64> descriptor = find_descriptor(window, code);
  if (!descriptor) return "";
  return only_symbol(find_note(window, *descriptor, *descriptor < code));
}

}  // namespace doorbell::emu::amdgpu
