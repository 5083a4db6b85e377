// Recording, and changing (ioctl_door.h).
#include "tests/emulator/mutation/ioctl_door.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace doorbell::testing {

std::string name_of(IoctlMutant::Change change) {
  switch (change) {
    case IoctlMutant::Change::Bit: return "bit";
    case IoctlMutant::Change::Scale: return "scale";
    case IoctlMutant::Change::Drop: return "drop";
    case IoctlMutant::Change::Twice: break;
  }
  return "twice";
}

void change(const IoctlMutant& mutant, std::span<std::byte> record) {
  if (mutant.change == IoctlMutant::Change::Bit) {
    record[mutant.offset] ^= std::byte{1} << mutant.bit;
    return;
  }
  u64 value = 0;
  std::memcpy(&value, &record[mutant.offset], mutant.bytes);
  value *= mutant.times;
  std::memcpy(&record[mutant.offset], &value, mutant.bytes);
}

bool IoctlDoor::is_new(const std::string& role) {
  return mutant_ == nullptr && seen_.emplace(role, true).second;
}

void IoctlDoor::add_bits(const std::string& role, const std::string& field, usize offset,
                         usize bytes) {
  for (u32 bit = 0; bit < 8 * bytes; ++bit)
    add({.role = role,
         .offset = offset + bit / 8,
         .bit = bit % 8,
         .name = fmt::format("{}: {} bit {}", role, field, bit)});
}

void IoctlDoor::add_call(const std::string& role) {
  using Change = IoctlMutant::Change;
  if (!is_new("call " + role)) return;
  for (const Change change : {Change::Drop, Change::Twice})
    if (change == Change::Drop || acts(role))
      add({.role = role, .change = change, .name = fmt::format("{}: {}", role, name_of(change))});
}

Result<int> IoctlDoor::ioctl(os::File& file, unsigned long request, void* argument) {
  const std::vector<Part> parts = parts_of(request, static_cast<std::byte*>(argument));
  if (!parts.empty()) add_call(parts.front().role);
  for (const Part& part : parts)
    if (mutant_ != nullptr && part.role == mutant_->role)
      return call_changed(file, request, part, argument);
  return file.ioctl(request, argument);
}

Result<int> IoctlDoor::call_changed(os::File& file, unsigned long request, const Part& part,
                                    void* argument) {
  happened_ = true;
  if (mutant_->change == IoctlMutant::Change::Drop) return 0;
  if (mutant_->change == IoctlMutant::Change::Twice) return repeat(file, request, part, argument);
  const std::vector<std::byte> said(part.bytes.begin(), part.bytes.end());
  change(*mutant_, part.bytes);
  const std::vector<std::byte> sent(part.bytes.begin(), part.bytes.end());
  Result<int> result = file.ioctl(request, argument);
  // The driver's own copy is as it was, but for what the kernel has written.
  for (usize i = 0; i < said.size(); ++i)
    if (part.bytes[i] == sent[i]) part.bytes[i] = said[i];
  return result;
}

// The second call has the arguments that the first one had; the driver sees what it answers.
Result<int> IoctlDoor::repeat(os::File& file, unsigned long request, const Part& part,
                              void* argument) {
  const std::vector<std::byte> said(part.bytes.begin(), part.bytes.end());
  Result<int> first = file.ioctl(request, argument);
  if (!first) return first;
  std::ranges::copy(said, part.bytes.begin());
  return file.ioctl(request, argument);
}

}  // namespace doorbell::testing
