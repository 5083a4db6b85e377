// Events as timestamps.
#include "drivers/cuda/timestamps.h"

#include "base/util/try.h"

namespace doorbell::cuda {
namespace {

// The time since the base is a float of milliseconds, which after this long is exact to about
// 0.06 us: take a new base. [CUDA Driver API, cuEventElapsedTime]
constexpr u64 kBaseLife_ns = 1'000'000'000;

}  // namespace

Timestamps::~Timestamps() {
  const Api& api = context_->api();
  if (!api.process.is_same_process()) return;
  const Current current(*context_);
  for (const Stamp& stamp : stamps_) (void)api.cuEventDestroy(stamp.event);
  for (const Base& base : bases_) (void)api.cuEventDestroy(base.event);
  if (idle_ != nullptr) (void)api.cuStreamDestroy(idle_);
}

Result<CUevent> Timestamps::make_event() {
  CUevent event = nullptr;
  TRY(context_->check(context_->api().cuEventCreate(&event, kEventDefault), "cuEventCreate"));
  return event;
}

Result<void> Timestamps::take_base() {
  const Api& api = context_->api();
  if (idle_ == nullptr)
    TRY(context_->check(api.cuStreamCreate(&idle_, kStreamNonBlocking), "cuStreamCreate"));
  TRY(const CUevent event, make_event());
  bases_.push_back({event, 0});
  TRY(context_->check(api.cuEventRecord(event, idle_), "cuEventRecord"));
  TRY(context_->check(api.cuEventSynchronize(event), "cuEventSynchronize"));
  bases_.back().ns = clock_.now_ns();
  return {};
}

Result<u64> Timestamps::record(CUstream stream) {
  std::lock_guard lock(mutex_);
  if (bases_.empty() || clock_.now_ns() - bases_.back().ns > kBaseLife_ns) TRY(take_base());
  if (stamps_.size() < kEvents) {
    TRY(const CUevent event, make_event());
    stamps_.push_back({event, 0});
  }
  Stamp& stamp = stamps_[last_ % kEvents];
  stamp.base = bases_.size() - 1;
  TRY(context_->check(context_->api().cuEventRecord(stamp.event, stream), "cuEventRecord"));
  return ++last_;
}

u64 Timestamps::to_ns(u64 number) const {
  std::lock_guard lock(mutex_);
  if (number == 0 || number > last_ || last_ - number >= kEvents) return 0;
  const Stamp& stamp = stamps_[(number - 1) % kEvents];
  const Base& base = bases_[stamp.base];
  const Current current(*context_);
  float ms = 0;
  if (context_->api().cuEventElapsedTime(&ms, base.event, stamp.event) != kSuccess) return 0;
  return base.ns + static_cast<u64>(static_cast<i64>(static_cast<f64>(ms) * 1e6));
}

}  // namespace doorbell::cuda
