// Uvm: /dev/nvidia-uvm, NVIDIA's unified memory driver, which owns the page tables of our address
// spaces. One file is one set of addresses for all GPUs of the process. A forked child makes no
// calls: the addresses are its parent's. See hw/uvm/ioctl.h.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <memory>

#include "base/os/files.h"
#include "base/os/fork.h"
#include "base/util/try.h"
#include "drivers/nv/hw/uvm/ioctl.h"

namespace doorbell::nv {

class Uvm {
 public:
  static Result<std::unique_ptr<Uvm>> open(os::Files& files, hw::DriverAbi abi);

  // The record gets the answer. The error names the call and the status.
  template <class T>
  Result<void> call(T& record) {
    return call(*file_, record);
  }

 private:
  Uvm(hw::DriverAbi abi, std::unique_ptr<os::File> file, std::unique_ptr<os::File> second)
      : abi_(abi), file_(std::move(file)), second_(std::move(second)) {}
  template <class T>
  Result<void> call(os::File& file, T& record) {
    std::vector<std::byte> bytes = hw::pack(record, abi_);
    TRY(send(file, T::kRequest, bytes, T::kName));
    TRY(record, hw::unpack<T>(bytes, abi_));
    return check(record.rm_status, T::kName);
  }
  Result<void> send(os::File& file, u32 request, std::span<std::byte> bytes, const char* name);
  static Result<void> check(u32 status, const char* name);

  const hw::DriverAbi abi_;
  const os::ForkGuard process_;
  const std::unique_ptr<os::File> file_;
  const std::unique_ptr<os::File> second_;  // keeps memory alive when the process ends
};

}  // namespace doorbell::nv
