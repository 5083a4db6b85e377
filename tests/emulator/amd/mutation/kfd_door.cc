// Which records KFD's calls have, and what of them a driver says (kfd_door.h).
#include "tests/emulator/amd/mutation/kfd_door.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstring>
#include <set>

#include "drivers/amd/hw/aql.h"
#include "drivers/amd/hw/kfd.h"

namespace doorbell::testing {

namespace hw = amd::hw;

namespace {

template <class T>
std::string role_of(const T& arguments) {
  if constexpr (std::is_same_v<T, hw::KfdCreateQueue>)
    return fmt::format("{} type {}", T::kName, arguments.queue_type);
  else if constexpr (std::is_same_v<T, hw::KfdAllocMemory>)
    return fmt::format("{} flags {:#x}", T::kName, arguments.flags);
  else if constexpr (std::is_same_v<T, hw::KfdCreateEvent>)
    return fmt::format("{} type {}", T::kName, arguments.event_type);
  else
    return T::kName;
}

// Fields that only the kernel writes.
const std::set<std::string> kNotSaid = {"doorbell_offset",
                                        "queue_id of CREATE_QUEUE",
                                        "handle of ALLOC_MEMORY_OF_GPU",
                                        "mmap_offset",
                                        "event_trigger_data",
                                        "event_slot_index",
                                        "event_id of CREATE_EVENT",
                                        "wait_result",
                                        "minor_version",
                                        "major_version",
                                        "capabilities_mask",
                                        "available",
                                        "gpu_clock_counter",
                                        "cpu_clock_counter",
                                        "system_clock_counter",
                                        "system_clock_freq"};

bool is_said(const char* call, const std::string& field) {
  return !field.ends_with("_ptr") && !kNotSaid.contains(field) &&
         !kNotSaid.contains(fmt::format("{} of {}", field, call));
}

// What the driver writes into an amd_queue_t, and the command processor reads.
struct QueueField {
  const char* name;
  u32 offset, bytes;
  bool of_one_xcc = false;  // what a driver may take to be of all of them
};
constexpr QueueField kQueueFields[] = {
    {"read_dispatch_id_field_base_byte_offset",
     offsetof(hw::AmdQueue, read_dispatch_id_field_base_byte_offset), 4},
    {"max_cu_id", offsetof(hw::AmdQueue, max_cu_id), 4},
    {"max_wave_id", offsetof(hw::AmdQueue, max_wave_id), 4},
    {"queue_properties", offsetof(hw::AmdQueue, queue_properties), 4},
    {"compute_tmpring_size", offsetof(hw::AmdQueue, compute_tmpring_size), 4},
    {"scratch_resource_descriptor_0", offsetof(hw::AmdQueue, scratch_resource_descriptor), 4},
    {"scratch_resource_descriptor_1", offsetof(hw::AmdQueue, scratch_resource_descriptor) + 4, 4},
    {"scratch_resource_descriptor_2", offsetof(hw::AmdQueue, scratch_resource_descriptor) + 8, 4,
     true},
    {"scratch_resource_descriptor_3", offsetof(hw::AmdQueue, scratch_resource_descriptor) + 12, 4},
    {"scratch_backing_memory_location", offsetof(hw::AmdQueue, scratch_backing_memory_location), 8},
    {"scratch_backing_memory_byte_size", offsetof(hw::AmdQueue, scratch_backing_memory_byte_size),
     8, true},
    {"scratch_wave64_lane_byte_size", offsetof(hw::AmdQueue, scratch_wave64_lane_byte_size), 4},
};
constexpr const char* kQueueRole = "amd_queue_t";
constexpr u32 kXccs = 8;  // gfx942's
constexpr u64 kPage = 4096;

// Calls f with the call's arguments, if it is KFD's and of a size that it has now.
template <class F>
void visit(unsigned long request, void* argument, const F& f) {
  bool found = false;
  hw::for_each_kfd_ioctl([&]<class T>(const T&) {
    constexpr u32 kNumberAndType = 0xffff;
    if (found || (request & kNumberAndType) != (hw::kRequest<T> & kNumberAndType)) return;
    if ((request >> 16 & 0x3fff) != sizeof(T)) return;
    found = true;
    f(*static_cast<T*>(argument));
  });
}

}  // namespace

// Whoever asks twice is told the same.
bool KfdDoor::acts(const std::string& role) const {
  return !role.starts_with("GET_") && role != "AVAILABLE_MEMORY";
}

std::vector<IoctlDoor::Part> KfdDoor::parts_of(unsigned long request, std::byte* argument) {
  std::vector<Part> parts;
  visit(request, argument, [&]<class T>(T& arguments) {
    const std::string role = role_of(arguments);
    parts.push_back({role, {argument, sizeof(T)}});
    if (!is_new(role)) return;
    T record = arguments;
    T::fields(record, [&]<class V>(const char* field, V& value) {
      const auto offset = static_cast<usize>(reinterpret_cast<std::byte*>(&value) -
                                             reinterpret_cast<std::byte*>(&record));
      if constexpr (std::is_integral_v<V>)
        if (is_said(T::kName, field)) add_bits(role, field, offset, sizeof value);
    });
  });
  // Questions to the render node are not KFD's.
  if (parts.empty() && (request >> 8 & 0xff) == hw::KfdGetVersion::kType)
    note_unknown(fmt::format("request {:#x}", request));
  return parts;
}

void KfdDoor::add_queue() {
  using Change = IoctlMutant::Change;
  if (!is_new(kQueueRole)) return;
  for (const QueueField& field : kQueueFields) {
    add_bits(kQueueRole, field.name, field.offset, field.bytes);
    if (field.of_one_xcc)
      add({.role = kQueueRole,
           .change = Change::Scale,
           .offset = field.offset,
           .bytes = field.bytes,
           .times = kXccs,
           .name = fmt::format("{}: {} times {}", kQueueRole, field.name, kXccs)});
  }
}

Result<int> KfdDoor::ioctl(os::File& file, unsigned long request, void* argument) {
  u64 allocated = 0;
  visit(request, argument, [&]<class T>(T& arguments) {
    if constexpr (std::is_same_v<T, hw::KfdAllocMemory>) allocated = arguments.va_addr;
    if constexpr (std::is_same_v<T, hw::KfdCreateQueue>)
      if (arguments.queue_type == hw::kKfdQueueComputeAql) {
        queue_va_ = arguments.read_pointer_address / kPage * kPage;
        add_queue();
        change_queue();
      }
    if constexpr (std::is_same_v<T, hw::KfdUpdateQueue>)
      if (arguments.queue_percentage != 0) change_queue();
  });
  Result<int> result = IoctlDoor::ioctl(file, request, argument);
  visit(request, argument, [&]<class T>(T& arguments) {
    if constexpr (std::is_same_v<T, hw::KfdAllocMemory>)
      if (result) offsets_[allocated] = arguments.mmap_offset;
  });
  return result;
}

void KfdDoor::change_queue() {
  if (mutant() == nullptr || mutant()->role != kQueueRole || queue_va_ == 0) return;
  const auto offset = offsets_.find(queue_va_);
  if (offset == offsets_.end() || !hosts_.contains(offset->second)) return;
  u8* const queue = hosts_.at(offset->second);
  const std::span<std::byte> record(reinterpret_cast<std::byte*>(queue), sizeof(hw::AmdQueue));
  const usize at =
      mutant()->change == IoctlMutant::Change::Bit ? mutant()->offset / 4 * 4 : mutant()->offset;
  u32 now = 0;
  std::memcpy(&now, &record[at], sizeof now);
  // What the driver has not written since is changed already.
  if (happened() && now == last_) return;
  change(*mutant(), record);
  std::memcpy(&now, &record[at], sizeof now);
  last_ = now;
  note_happened();
}

}  // namespace doorbell::testing
