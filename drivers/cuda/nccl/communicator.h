// NcclCommunicator: core::Communicator whose exchanges between NVIDIA's GPUs are NCCL's, between
// memories that CUDA allocated. Everything else is another Communicator's, which also carries what
// NCCL needs to start, and tells who is missing.
//
// Thread safety: as core::Communicator.
#pragma once

#include "core/device/communicator.h"
#include "drivers/cuda/nccl/group.h"

namespace doorbell::cuda::nccl {

class NcclCommunicator final : public core::Communicator {
 public:
  NcclCommunicator(core::Communicator& processes, Options options)
      : processes_(processes), options_(std::move(options)) {}

  int rank() const override { return processes_.rank(); }
  int size() const override { return processes_.size(); }
  int local_rank() const override { return processes_.local_rank(); }
  core::Device& device() override { return processes_.device(); }
  Result<std::unique_ptr<core::Program>> load(const core::Exchange& exchange) override;
  Result<std::unique_ptr<core::Device>> open_remote(core::DeviceSpec spec, int rank) override {
    return processes_.open_remote(std::move(spec), rank);
  }
  bool takes_memory_of(std::string_view device) const override {
    return device.starts_with("CUDA");
  }
  Result<void> wait(const IsDone& is_done, const std::string& what,
                    const std::vector<int>& ranks) override {
    return processes_.wait(is_done, what, ranks);
  }
  Error give_up(const Error& why, const std::vector<int>& ranks) override {
    return processes_.give_up(why, ranks);
  }
  // NCCL's communicators end with the process: libcuda may have ended before.
  void leave() override { processes_.leave(); }

  // Of the queue of exchanges.
  Result<Group*> group(CudaDevice& device, const std::vector<int>& ranks);

 private:
  core::Communicator& processes_;
  const Options options_;
  std::vector<std::unique_ptr<Group>> groups_;
};

}  // namespace doorbell::cuda::nccl
