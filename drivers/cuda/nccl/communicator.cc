// Which exchange is whose.
#include "drivers/cuda/nccl/communicator.h"

#include "base/util/try.h"

namespace doorbell::cuda::nccl {
namespace {

// All memories of an exchange are of one kind in all processes of the group: others are staged.
class NcclProgram final : public core::Program {
 public:
  NcclProgram(NcclCommunicator& communicator, core::Exchange exchange,
              std::unique_ptr<core::Program> through_host)
      : communicator_(communicator),
        exchange_(std::move(exchange)),
        through_host_(std::move(through_host)) {}

  Result<void> launch(std::span<const core::BufferView> buffers,
                      std::span<const i64> variables) override {
    auto* device = dynamic_cast<CudaDevice*>(&buffers[0].buffer->device());
    if (device == nullptr) return through_host_->launch(buffers, variables);
    TRY(Group * group, communicator_.group(*device, exchange_.ranks));
    return group->run(exchange_, buffers, *through_host_);
  }

 private:
  NcclCommunicator& communicator_;
  const core::Exchange exchange_;
  const std::unique_ptr<core::Program> through_host_;
};

}  // namespace

Result<std::unique_ptr<core::Program>> NcclCommunicator::load(const core::Exchange& exchange) {
  TRY(std::unique_ptr<core::Program> through_host, processes_.load(exchange));
  return std::make_unique<NcclProgram>(*this, exchange, std::move(through_host));
}

Result<Group*> NcclCommunicator::group(CudaDevice& device, const std::vector<int>& ranks) {
  for (const std::unique_ptr<Group>& known : groups_)
    if (&known->device() == &device && known->ranks() == ranks) return known.get();
  TRY(std::unique_ptr<Group> made, Group::join(processes_, options_, device, ranks));
  groups_.push_back(std::move(made));
  return groups_.back().get();
}

}  // namespace doorbell::cuda::nccl
