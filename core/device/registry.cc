// Names to numbers to devices.
#include "core/device/registry.h"

#include <charconv>
#include <utility>

#include "base/util/check.h"
#include "base/util/log.h"
#include "base/util/suggest.h"
#include "base/util/try.h"
#include "core/util/config.h"

namespace doorbell::core {
namespace {

struct DeviceName {
  std::string kind;
  int ordinal = 0;
  int rank = -1;
  std::string canonical() const {
    return kind + (ordinal == 0 ? "" : ":" + std::to_string(ordinal)) +
           (rank < 0 ? "" : "@" + std::to_string(rank));
  }
};

Result<int> parse_number(std::string_view text, std::string_view digits) {
  int number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || number < 0)
    return fail(ErrorKind::Invalid, "device '{}': '{}' is not a device number", text, digits);
  return number;
}

// The rank behind "CPU:1@2"; -1 where it is this process's.
Result<int> parse_rank(std::string_view text, std::string_view digits, const Communicator* others) {
  TRY(const int rank, parse_number(text, digits));
  if (others == nullptr)
    return fail(ErrorKind::Invalid,
                "device '{}': this process has no others; start it by mpirun or srun, and "
                "initialise doorbell.distributed first",
                text);
  if (rank >= others->size())
    return fail(ErrorKind::Invalid, "device '{}': ranks are 0 to {}", text, others->size() - 1);
  return rank == others->rank() ? -1 : rank;
}

Result<DeviceName> parse_name(std::string_view text, const Communicator* others) {
  DeviceName name;
  const usize at = text.find('@');
  if (at != std::string_view::npos) {
    TRY(name.rank, parse_rank(text, text.substr(at + 1), others));
  }
  const std::string_view all = text;
  text = text.substr(0, at);
  const usize colon = text.find(':');
  for (char c : text.substr(0, colon))
    name.kind += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  if (name.kind.empty()) return fail(ErrorKind::Invalid, "device '{}' has no name", all);
  if (colon != std::string_view::npos) {
    TRY(name.ordinal, parse_number(all, text.substr(colon + 1)));
  }
  return name;
}

}  // namespace

Registry& Registry::instance() {
  // Never destroyed: see the header.
  static Registry& registry = *new Registry;
  return registry;
}

Registry::~Registry() {
  for (Slot& slot : slots_) delete slot.device.load(std::memory_order_acquire);
}

void Registry::add(std::string kind, Factory factory) {
  std::lock_guard lock(mutex_);
  unavailable_.erase(kind);
  factories_[std::move(kind)] = std::move(factory);
}

void Registry::add_unavailable(std::string kind, std::string reason) {
  std::lock_guard lock(mutex_);
  unavailable_[std::move(kind)] = std::move(reason);
}

Result<u16> Registry::index_of(std::string_view text) {
  TRY(DeviceName name, parse_name(text, communicator()));
  const std::string canonical = name.canonical();
  std::lock_guard lock(mutex_);
  const u16 count = slot_count_.load(std::memory_order_relaxed);
  for (u16 i = 0; i < count; ++i)
    if (slots_[i].name == canonical) return i;
  if (auto at = unavailable_.find(name.kind); at != unavailable_.end())
    return fail(ErrorKind::Unsupported, "device {}: {}", canonical, at->second);
  if (!factories_.contains(name.kind)) {
    std::vector<std::string> kinds;
    for (const auto& [kind, factory] : factories_) kinds.push_back(kind);
    for (const auto& [kind, reason] : unavailable_) kinds.push_back(kind);
    return fail(ErrorKind::Invalid, "unknown device {}{}", name.kind,
                did_you_mean(name.kind, kinds));
  }
  if (count == kMaxDevices)
    return fail(ErrorKind::Invalid, "device {} would be one more than {}", canonical, kMaxDevices);
  slots_[count].name = canonical;
  slots_[count].kind = name.kind;
  slots_[count].ordinal = name.ordinal;
  slots_[count].rank = name.rank;
  slot_count_.store(static_cast<u16>(count + 1), std::memory_order_release);
  return count;
}

Result<Device*> Registry::open_slot(Slot& slot, u16 index) {
  std::lock_guard opening(slot.opening);
  if (Device* open = slot.device.load(std::memory_order_acquire)) return open;
  Factory factory;
  {
    std::lock_guard lock(mutex_);
    factory = factories_.at(slot.kind);
  }
  DeviceSpec spec;
  spec.name = slot.name;
  spec.index = index;
  spec.ordinal = slot.ordinal;
  Result<std::unique_ptr<Device>> made =
      slot.rank >= 0 ? communicator()->open_remote(std::move(spec), slot.rank)
                     : factory(std::move(spec));
  if (!made) {
    Error error = std::move(made).error();
    error.device = slot.name;
    return error;
  }
  Device* device = made->release();
  slot.device.store(device, std::memory_order_release);
  if (config().debug >= 1) log().debug("opened {}: {}", device->name(), device->description());
  return device;
}

Result<Device*> Registry::at(u16 index) {
  CHECK(index < slot_count_.load(std::memory_order_acquire), "device number {} was not given out",
        index);
  Slot& slot = slots_[index];
  if (Device* open = slot.device.load(std::memory_order_acquire)) return open;
  return open_slot(slot, index);
}

Result<Device*> Registry::open(std::string_view name) {
  TRY(u16 index, index_of(name));
  return at(index);
}

std::string Registry::name_of(u16 index) const {
  CHECK(index < slot_count_.load(std::memory_order_acquire), "device number {} was not given out",
        index);
  return slots_[index].name;
}

absl::InlinedVector<Device*, 8> Registry::open_devices() const {
  absl::InlinedVector<Device*, 8> open;
  const u16 count = slot_count_.load(std::memory_order_acquire);
  for (u16 i = 0; i < count; ++i)
    if (Device* device = slots_[i].device.load(std::memory_order_acquire)) open.push_back(device);
  return open;
}

void Registry::set_default_order(std::vector<std::string> names) {
  std::lock_guard lock(mutex_);
  default_order_ = std::move(names);
  default_.store(nullptr, std::memory_order_release);
}

Result<Device*> Registry::default_device() {
  if (Device* device = default_.load(std::memory_order_acquire)) return device;
  std::vector<std::string> order;
  {
    std::lock_guard lock(mutex_);
    order = default_order_;
  }
  std::string reasons;
  for (const std::string& name : order) {
    Result<Device*> device = open(name);
    if (device) {
      default_.store(*device, std::memory_order_release);
      return device;
    }
    if (order.size() == 1) return device;
    reasons += reasons.empty() ? "" : "; ";
    reasons += device.error().message;
  }
  if (order.empty()) return fail(ErrorKind::NotFound, "no devices are registered");
  return fail(ErrorKind::NotFound, "no device opens: {}", reasons);
}

}  // namespace doorbell::core
