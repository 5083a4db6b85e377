// Group: one GPU of each of some processes, as NCCL joins them: a communicator, and a stream of its
// own beside those of kernels. What NCCL does not do, or where it is not, passes through the host's
// memory, by the same stream.
//
// Thread safety: the queue of exchanges alone uses it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/device/communicator.h"
#include "drivers/cuda/device.h"
#include "drivers/cuda/nccl/facts.h"

namespace doorbell::cuda::nccl {

struct Options {
  bool must = false;                         // an error where NCCL cannot be used
  std::function<Result<const Api*>()> load;  // finds the library
};

class Group {
 public:
  // Every process of the group calls it at once. `processes` outlives it.
  static Result<std::unique_ptr<Group>> join(core::Communicator& processes, const Options& options,
                                             CudaDevice& device, const std::vector<int>& ranks);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  const CudaDevice& device() const { return device_; }
  const std::vector<int>& ranks() const { return ranks_; }
  // `through_host` does the same with memory of the host. Done when it returns.
  Result<void> run(const core::Exchange& exchange, std::span<const core::BufferView> buffers,
                   core::Program& through_host);

 private:
  Group(core::Communicator& processes, CudaDevice& device, std::vector<int> ranks)
      : processes_(processes), device_(device), ranks_(std::move(ranks)) {}
  Result<void> start(const Options& options);
  Facts own_facts(const Options& options);
  Result<std::vector<Facts>> share(const Facts& own);
  Result<void> connect(const UniqueId& id);
  Status call(const core::Exchange& exchange, std::span<const core::BufferView> buffers);
  Status sum(const core::Exchange& exchange, std::span<const core::BufferView> buffers);
  Status swap(u64 to, u64 from, usize block);
  Result<void> run_with_nccl(const core::Exchange& exchange,
                             std::span<const core::BufferView> buffers);
  Result<void> run_through_host(const core::Exchange& exchange,
                                std::span<const core::BufferView> buffers, core::Program& program);
  Result<void> copy(u64 to, u64 from, i64 bytes);
  // Waits for what was asked of NCCL, and `stream`: for its work. Leaves it on an error.
  Result<void> wait(const std::string& what, CUstream stream);
  int place() const;  // of this process in the group

  core::Communicator& processes_;
  CudaDevice& device_;
  const std::vector<int> ranks_;
  const Api* api_ = nullptr;  // null: through the host
  Comm comm_ = nullptr;
  CUstream stream_ = nullptr;
};

}  // namespace doorbell::cuda::nccl
