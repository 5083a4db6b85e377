// Between the driver and the kernel's door (door_mutants.h).
#include "tests/emulator/amd/mutation/door_mutants.h"

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

// Fields that only the kernel writes, and padding.
const std::set<std::string> kNotSaid = {"doorbell_offset",
                                        "queue_id of CREATE_QUEUE",
                                        "handle of ALLOC_MEMORY_OF_GPU",
                                        "mmap_offset",
                                        "pad",
                                        "event_trigger_data",
                                        "event_slot_index",
                                        "event_id of CREATE_EVENT",
                                        "wait_result",
                                        "minor_version",
                                        "capabilities_mask",
                                        "gpu_clock_counter",
                                        "cpu_clock_counter",
                                        "system_clock_counter",
                                        "system_clock_freq",
                                        "n_success"};

bool is_said(const char* kind, const std::string& field) {
  return !field.ends_with("_ptr") && !kNotSaid.contains(field) &&
         !kNotSaid.contains(fmt::format("{} of {}", field, kind));
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

}  // namespace

std::string DoorMutant::name() const {
  if (times != 1) return fmt::format("{}: {} times {}", role, field, times);
  return flip == 1 ? fmt::format("{}: {}", role, field)
                   : fmt::format("{}: {} bit {:#x}", role, field, flip);
}

std::unique_ptr<os::Files> Door::wrap(std::unique_ptr<os::Files> files) {
  return watch_files(std::move(files), *this);
}

template <class T>
void Door::record(const std::string& role, const T& arguments) {
  if (recorded_[role]) return;
  recorded_[role] = true;
  T copy = arguments;
  T::fields(copy, [&]<class V>(const char* field, V& value) {
    if (!is_said(T::kName, field)) return;
    if (std::string_view(field) != "flags") {
      mutants_.push_back({role, field, 1});
      return;
    }
    for (u64 bit = 1; bit != 0 && bit <= static_cast<u64>(value); bit <<= 1)
      if (static_cast<u64>(value) & bit) mutants_.push_back({role, field, bit});
  });
}

template <class T>
Result<int> Door::pass(os::File& file, unsigned long request, T& arguments) {
  const std::string role = role_of(arguments);
  const T said = arguments;
  if (!mutant_) record(role, said);
  if (mutant_ && mutant_->role == role) {
    happened_ = true;
    T::fields(arguments, [&]<class V>(const char* field, V& value) {
      if (mutant_->field == field) value = static_cast<V>(value ^ static_cast<V>(mutant_->flip));
    });
  }
  if constexpr (std::is_same_v<T, hw::KfdCreateQueue>)
    if (said.queue_type == hw::kKfdQueueComputeAql) {
      queue_va_ = said.read_pointer_address / kPage * kPage;
      change_queue();
    }
  if constexpr (std::is_same_v<T, hw::KfdUpdateQueue>)
    if (said.queue_percentage != 0) change_queue();
  const T sent = arguments;
  Result<int> result = file.ioctl(request, &arguments);
  // The driver's own copy is as it was, but for what the kernel has written.
  T::fields(arguments, [&]<class V>(const char* field, V& value) {
    V before{}, changed{};
    T::fields(said, [&]<class W>(const char* other, const W& was) {
      if (std::string_view(other) == field) before = static_cast<V>(was);
    });
    T::fields(sent, [&]<class W>(const char* other, const W& was) {
      if (std::string_view(other) == field) changed = static_cast<V>(was);
    });
    if (value == changed) value = before;
  });
  if (!result) return result;
  if constexpr (std::is_same_v<T, hw::KfdAllocMemory>)
    offsets_[said.va_addr] = arguments.mmap_offset;
  if constexpr (std::is_same_v<T, hw::KfdCreateQueue>)
    if (said.queue_type == hw::kKfdQueueComputeAql && !mutant_)
      for (const QueueField& field : kQueueFields) {
        mutants_.push_back({kQueueRole, field.name});
        if (field.of_one_xcc) mutants_.push_back({kQueueRole, field.name, 1, kXccs});
      }
  return result;
}

Result<int> Door::ioctl(os::File& file, unsigned long request, void* argument) {
  std::optional<Result<int>> result;
  hw::for_each_kfd_ioctl([&]<class T>(const T&) {
    constexpr u32 kNumberAndType = 0xffff;
    if (result || (request & kNumberAndType) != (hw::kRequest<T> & kNumberAndType)) return;
    if ((request >> 16 & 0x3fff) != sizeof(T)) return;  // an older kernel's
    result = pass(file, request, *static_cast<T*>(argument));
  });
  return result ? std::move(*result) : file.ioctl(request, argument);
}

// Which is when the command processor copies it.
void Door::change_queue() {
  if (!mutant_ || mutant_->role != kQueueRole || queue_va_ == 0) return;
  for (const QueueField& field : kQueueFields) {
    if (mutant_->field != field.name) continue;
    u8* at = hosts_.at(offsets_.at(queue_va_)) + field.offset;
    u64 value = 0;
    std::memcpy(&value, at, field.bytes);
    if (happened_ && value == last_) continue;
    last_ = mutant_->times != 1 ? value * mutant_->times : value ^ mutant_->flip;
    std::memcpy(at, &last_, field.bytes);
    happened_ = true;
  }
}

}  // namespace doorbell::testing
