// Timestamps: when kernels ran by the device's own clock, for a trace. Each kernel is a compute
// pass whose begin and end the device writes into a query set; a batch's are copied to memory that
// the host maps when the batch is done.
//
// Thread safety: as Context, under whose lock all is called; the map's callback adds the spans.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "drivers/webgpu/api.h"
#include "hcq/trace/trace.h"

namespace doorbell::webgpu {

class Timestamps {
 public:
  // Where spans go.
  struct Target {
    hcq::Trace* trace;
    std::string device, queue;
  };
  static Result<std::unique_ptr<Timestamps>> make(const Api& api, Instance instance, Device device,
                                                  Queue queue, Target target);
  ~Timestamps();

  // For the pass of a kernel.
  TimestampWrites begin(std::string_view kernel);
  bool is_full() const { return kernels_.size() >= kKernels; }
  // Before a batch's encoder is finished, and after it is submitted.
  void resolve(CommandEncoder encoder);
  void read();
  // Whether times of submitted batches are still to come.
  bool is_reading() const { return reading_.load(std::memory_order_acquire) > 0; }

 private:
  static constexpr u32 kKernels = 128;  // of a batch

  struct Batch;
  Timestamps(const Api& api, Device device, Target target);
  Owned<BufferHandle> make_buffer(u64 usage) const;
  void add(const Batch& batch, const u64* times);

  const Api& api_;
  const Device device_;
  const Target target_;
  Owned<QuerySet> set_;
  Owned<BufferHandle> resolved_;
  f64 tick_ns_ = 1;
  i64 offset_ns_ = 0;                      // the host's clock minus the device's
  std::vector<std::string_view> kernels_;  // of the batch
  std::unique_ptr<Batch> pending_;         // resolved, and not submitted
  std::atomic<int> reading_{0};            // batches
};

}  // namespace doorbell::webgpu
