// Opening the kernel modules, and addresses.
#include "drivers/nv/kernel/nvk.h"

#include "base/util/check.h"
#include "drivers/nv/kernel/nvk_gpu.h"
#include "drivers/nv/kernel/shared_memory.h"

namespace doorbell::nv {
namespace {

// Host engines before Hopper see 40 bits, grids 47 and more. Processes of Linux map little between
// 2^36 and 2^45. [open-gpu-doc clc56f.h SEM_ADDR_HI; open-gpu-kernel-modules
// nvidia-uvm/uvm_ampere.c max_channel_va]
constexpr u64 kLowStart = u64{1} << 36, kLowEnd = u64{1} << 40, kHighEnd = u64{1} << 45;
constexpr u64 kGranule = 4096;

}  // namespace

Result<std::unique_ptr<Nvk>> Nvk::open(os::Files& files, os::Clock& clock) {
  TRY(std::unique_ptr<RmClient> client, RmClient::open(files));
  TRY(std::unique_ptr<Uvm> uvm, Uvm::open(files, client->abi()));
  TRY(std::vector<hw::CardInfo> cards, client->cards());
  return std::unique_ptr<Nvk>(
      new Nvk(files, clock, std::move(client), std::move(uvm), std::move(cards)));
}

Nvk::Nvk(os::Files& files, os::Clock& clock, std::unique_ptr<RmClient> client,
         std::unique_ptr<Uvm> uvm, std::vector<hw::CardInfo> cards)
    : files_(files),
      clock_(clock),
      client_(std::move(client)),
      uvm_(std::move(uvm)),
      cards_(std::move(cards)),
      low_(kLowStart, kLowEnd - kLowStart, kGranule),
      high_(kLowEnd, kHighEnd - kLowEnd, kGranule),
      gpus_(cards_.size()),
      shared_(std::make_unique<SharedMemory>()),
      signals_(std::make_unique<hcq::SignalPool>(*shared_, hcq::SignalPool::RaisedBy::Device)) {}

Nvk::~Nvk() = default;

Result<NvkGpu*> Nvk::gpu(usize index) {
  CHECK(index < cards_.size(), "GPU {} of {}", index, cards_.size());
  std::lock_guard lock(gpus_mutex_);
  std::unique_ptr<NvkGpu>& gpu = gpus_[index];
  if (gpu == nullptr) {
    TRY(std::unique_ptr<NvkGpu> opened, NvkGpu::open(*this, cards_[index]));
    TRY(shared_->add_gpu(*opened));
    gpu = std::move(opened);
  }
  return gpu.get();
}

Result<u64> Nvk::reserve(u64 bytes, u64 alignment, bool low) {
  std::lock_guard lock(mutex_);
  const std::optional<u64> va = (low ? low_ : high_).allocate(bytes, alignment);
  if (!va)
    return fail(ErrorKind::OutOfMemory, "no GPU addresses {} 2^40 are left for {} bytes",
                low ? "below" : "above", bytes);
  return *va;
}

void Nvk::unreserve(u64 va) {
  std::lock_guard lock(mutex_);
  (va < kLowEnd ? low_ : high_).release(va);
}

}  // namespace doorbell::nv
