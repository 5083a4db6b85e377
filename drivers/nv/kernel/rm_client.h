// RmClient: the process's client of NVIDIA's resource manager (RM), which the kernel module nvidia
// offers at /dev/nvidiactl: objects are allocated, controlled and freed by handles. See hw/rm for
// the ioctls and their parameters, uvm.h for the other kernel module. A forked child makes no
// calls: they would free what is its parent's.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/os/files.h"
#include "base/os/fork.h"
#include "base/util/try.h"
#include "drivers/nv/hw/rm/control.h"
#include "drivers/nv/hw/rm/escape.h"
#include "drivers/nv/hw/rm/object.h"

namespace doorbell::nv {

class RmClient {
 public:
  // Opens /dev/nvidiactl and learns the driver's version. Errors say what to do about them. The
  // files outlive it.
  static Result<std::unique_ptr<RmClient>> open(os::Files& files);
  // Frees all of its objects, as the kernel does where it forgets.
  ~RmClient();
  RmClient(const RmClient&) = delete;
  RmClient& operator=(const RmClient&) = delete;

  const std::string& version() const { return version_; }  // "580.105.08"
  hw::DriverAbi abi() const { return abi_; }
  u32 handle() const { return handle_; }
  os::File& file() const { return *file_; }
  int descriptor() const { return file_->descriptor(); }

  // The GPUs of the machine, in the order of the kernel's list.
  Result<std::vector<hw::CardInfo>> cards();
  // A fresh file of a node, tied to this client where it is a GPU's.
  Result<std::unique_ptr<os::File>> open_node(const std::string& path);

  // An escape of one record, which gets the answer. The error names the call and the status.
  template <class T>
  Result<void> escape(os::File& file, T& record) {
    std::vector<std::byte> bytes = hw::pack(record, abi_);
    TRY(call(file, T::kEscape, bytes, T::kName));
    TRY(record, hw::unpack<T>(bytes, abi_));
    return {};
  }

  // The same of a record that has a status; `what` is for the message.
  template <class T>
  Result<void> escape_checked(os::File& file, T& record, const std::string& what) {
    TRY(escape(file, record));
    if constexpr (requires { record.params.status; })
      return check(record.params.status, T::kName, what);
    else
      return check(record.status, T::kName, what);
  }
  template <class T>
  Result<void> escape_checked(T& record, const std::string& what) {
    return escape_checked(*file_, record, what);
  }

  // The handle of a new object. `what` is for the message.
  template <class P>
  Result<u32> allocate(u32 parent, u32 class_id, P& parameters, const std::string& what) {
    std::vector<std::byte> bytes = hw::pack(parameters, abi_);
    TRY(const u32 object, allocate_raw(parent, class_id, bytes, what));
    TRY(parameters, hw::unpack<P>(bytes, abi_));
    return object;
  }
  // Of a class without parameters.
  Result<u32> allocate(u32 parent, u32 class_id, const std::string& what) {
    return allocate_raw(parent, class_id, {}, what);
  }
  Result<void> free(u32 parent, u32 object);

  // A command to an object; the parameters get the answer.
  template <class T>
  Result<void> control(u32 object, T& parameters) {
    std::vector<std::byte> bytes = hw::pack(parameters, abi_);
    TRY(control_raw(object, T::kCommand, bytes, T::kName));
    TRY(parameters, hw::unpack<T>(bytes, abi_));
    return {};
  }

  // For memory whose handle the client chooses.
  u32 next_handle() { return next_handle_.fetch_add(1, std::memory_order_relaxed); }

 private:
  RmClient(os::Files& files, std::unique_ptr<os::File> file)
      : files_(files), file_(std::move(file)) {}
  static Result<void> check(u32 status, const char* name, const std::string& what);
  Result<void> learn_version();
  Result<void> call(os::File& file, u8 escape, std::span<std::byte> bytes, const char* name);
  Result<u32> allocate_raw(u32 parent, u32 class_id, std::span<std::byte> parameters,
                           const std::string& what);
  Result<void> control_raw(u32 object, u32 command, std::span<std::byte> parameters,
                           const char* name);

  os::Files& files_;
  const os::ForkGuard process_;
  const std::unique_ptr<os::File> file_;
  // What is asked before the version is known is the same in all releases.
  hw::DriverAbi abi_ = hw::DriverAbi::R570;
  std::string version_;
  u32 handle_ = 0;
  std::atomic<u32> next_handle_{0x5c000001};
};

// An object, freed by its destructor. The client outlives it.
class RmObject {
 public:
  RmObject() = default;
  RmObject(RmClient& client, u32 parent, u32 handle)
      : client_(&client), parent_(parent), handle_(handle) {}
  RmObject(RmObject&& other) noexcept { swap(other); }
  RmObject& operator=(RmObject&& other) noexcept {
    RmObject taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~RmObject() {
    if (handle_ != 0) (void)client_->free(parent_, handle_);  // nobody could do anything about it
  }

  u32 handle() const { return handle_; }

 private:
  void swap(RmObject& other) {
    std::swap(client_, other.client_);
    std::swap(parent_, other.parent_);
    std::swap(handle_, other.handle_);
  }

  RmClient* client_ = nullptr;
  u32 parent_ = 0, handle_ = 0;
};

template <class P>
Result<RmObject> make_object(RmClient& client, u32 parent, u32 class_id, P parameters,
                             const std::string& what) {
  TRY(const u32 handle, client.allocate(parent, class_id, parameters, what));
  return RmObject(client, parent, handle);
}
inline Result<RmObject> make_object(RmClient& client, u32 parent, u32 class_id,
                                    const std::string& what) {
  TRY(const u32 handle, client.allocate(parent, class_id, what));
  return RmObject(client, parent, handle);
}

}  // namespace doorbell::nv
