// MpiCommunicator: core::Communicator over MPI. Its device's queue runs exchanges, and the copies
// from and to devices of other processes, which are messages. Memory that the host sees is handed
// to MPI as it is; other memory goes through host memory.
//
// Thread safety: as core::Communicator.
#pragma once

#include "core/device/communicator.h"
#include "drivers/mpi/link.h"
#include "hcq/software/launch_device.h"

namespace doorbell::mpi {

// Exchanges; it has no memory of its own.
class MpiDevice final : public hcq::LaunchDevice {
 public:
  MpiDevice(core::DeviceSpec spec, Link& link) : LaunchDevice(std::move(spec)), link_(link) {}
  ~MpiDevice() override { stop_queue(); }

  core::Allocator& allocator() override { return memory_; }
  Result<std::unique_ptr<core::Program>> load(const core::Binary& binary) override {
    return fail(ErrorKind::Unsupported, "{} runs no kernel: {}", name(), binary.name);
  }
  std::string description() const override;
  // Exchanges are complete when they return.
  Result<void> finish() override { return {}; }
  Result<void> usable() override { return link_.check(); }

 private:
  Link& link_;
  hcq::HostMemory memory_;
};

// Memory that another process has: what is written to it is sent, what is read from it received.
// For the queue of MpiDevice alone: both sides must do so in the same order.
class RemoteMemory final : public core::Allocator {
 public:
  RemoteMemory(Link& link, int rank) : link_(link), rank_(rank) {}

  Result<core::Allocation> allocate(i64 bytes) override { return core::Allocation{.bytes = bytes}; }
  void release(const core::Allocation&) override {}
  Result<void> copy_in(const core::Allocation&, i64, const void* from, i64 bytes) override;
  Result<void> copy_out(void* to, const core::Allocation&, i64, i64 bytes) override;
  // Another process's own work.
  Result<void> copy(const core::Allocation&, i64, const core::Allocation&, i64, i64) override {
    return {};
  }
  core::MemoryStats stats() const override { return {}; }

 private:
  Link& link_;
  const int rank_;
};

// The device of another process.
class RemoteDevice final : public hcq::Device {
 public:
  RemoteDevice(core::DeviceSpec spec, MpiDevice& queues, Link& link, int rank)
      : Device(std::move(spec)), queues_(queues), rank_(rank), memory_(link, rank) {}

  core::Allocator& allocator() override { return memory_; }
  Result<std::unique_ptr<core::Program>> load(const core::Binary& binary) override {
    return fail(ErrorKind::Unsupported, "{} is another process's: {} cannot be loaded here", name(),
                binary.name);
  }
  Result<void> synchronize() override { return queues_.synchronize(); }
  std::string description() const override;
  hcq::Queue& compute_queue() override { return queues_.compute_queue(); }
  hcq::Queue& copy_queue() override { return queues_.copy_queue(); }
  core::Allocator& shared_memory() override { return queues_.shared_memory(); }
  bool copies_any_memory() const override { return true; }
  Result<hcq::GpuAddr> address_of(const core::Buffer& buffer) override {
    return queues_.address_of(buffer);
  }

 private:
  MpiDevice& queues_;
  const int rank_;
  RemoteMemory memory_;
};

class MpiCommunicator final : public core::Communicator {
 public:
  explicit MpiCommunicator(Link& link);

  int rank() const override { return link_.job().rank; }
  int size() const override { return link_.job().size; }
  int local_rank() const override { return link_.job().local_rank; }
  core::Device& device() override { return device_; }
  Result<std::unique_ptr<core::Program>> load(const core::Exchange& exchange) override;
  Result<std::unique_ptr<core::Device>> open_remote(core::DeviceSpec spec, int rank) override;
  Result<void> wait(const IsDone& is_done, const std::string& what,
                    const std::vector<int>& ranks) override {
    return link_.wait(is_done, what, ranks);
  }
  Error give_up(const Error& why, const std::vector<int>& ranks) override {
    return link_.give_up(why, ranks);
  }
  void leave() override;

 private:
  Link& link_;
  MpiDevice device_;
};

}  // namespace doorbell::mpi
