// Registry: all devices of the process, by name and by number, opened on first use. runtime/ adds
// the kinds that exist by explicit calls; nothing registers itself.
//
// With a Communicator, "CPU@2" is the CPU of the process of rank 2: its name in every process. In
// that process it is the CPU itself; in the others it is a remote device, which only exchanges.
//
// Thread safety: all functions may be called from any thread; at() takes no lock for a device that
// is open. The devices of instance() are never closed: tensors that outlive main() may still free
// memory.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <absl/container/inlined_vector.h>

#include "core/device/communicator.h"
#include "core/device/device.h"

namespace doorbell::core {

class Registry {
 public:
  using Factory = std::function<Result<std::unique_ptr<Device>>(DeviceSpec)>;
  static constexpr u16 kMaxDevices = 256;

  static Registry& instance();

  Registry() = default;
  // Closes the devices. instance() is never destroyed: see above.
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // `kind` is a device name without number: "CPU". The factory chooses what the spec leaves open.
  void add(std::string kind, Factory factory);
  // A kind that is known but cannot be opened here, with the reason.
  void add_unavailable(std::string kind, std::string reason);

  // The device with this name, in upper or lower case, with or without number; "CPU:0" is "CPU".
  Result<Device*> open(std::string_view name);
  // The number of a name, without opening the device. Fails for a kind that was not added.
  Result<u16> index_of(std::string_view name);
  // The device with a number that index_of or Device::index returned.
  Result<Device*> at(u16 index);
  std::string name_of(u16 index) const;
  // In the order of their numbers. Inline storage, because each wait for all devices calls this.
  absl::InlinedVector<Device*, 8> open_devices() const;

  // Once, before a device of another process is named; it is never freed.
  void set_communicator(Communicator& communicator) { communicator_.store(&communicator); }
  // Null where the process has no others.
  Communicator* communicator() const { return communicator_.load(std::memory_order_acquire); }
  // Whether the device is another process's.
  bool is_remote(u16 index) const {
    return communicator() != nullptr && index < slot_count_.load(std::memory_order_acquire) &&
           slots_[index].rank >= 0;
  }
  // Of the process that a device belongs to; 0 where there is no other.
  int rank_of(u16 index) const {
    if (is_remote(index)) return slots_[index].rank;
    return communicator() != nullptr ? communicator()->rank() : 0;
  }

  // Tries the names in order until one opens, which stays the default. One name: no fallback.
  void set_default_order(std::vector<std::string> names);
  Result<Device*> default_device();

 private:
  struct Slot {
    std::string name, kind;
    int ordinal = 0;
    int rank = -1;  // of the process whose device it is; -1: this one's
    std::mutex opening;
    std::atomic<Device*> device{nullptr};
  };
  Result<Device*> open_slot(Slot& slot, u16 index);

  mutable std::mutex mutex_;  // guards the members below, but not the devices in the slots
  std::map<std::string, Factory, std::less<>> factories_;
  std::map<std::string, std::string, std::less<>> unavailable_;
  std::vector<std::string> default_order_;
  std::atomic<Device*> default_{nullptr};
  std::atomic<Communicator*> communicator_{nullptr};
  std::array<Slot, kMaxDevices> slots_;
  std::atomic<u16> slot_count_{0};
};

}  // namespace doorbell::core
