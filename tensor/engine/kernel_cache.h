// KernelCache: loaded kernels by structure and device, so that schedules which differ elsewhere
// share them, and all the new ones of a schedule compile in parallel. Compiled bytes on disk are
// codegen/compile's.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "tensor/engine/kernel_compiler.h"

namespace doorbell::engine {

struct LoadedKernel {
  std::string name;
  std::unique_ptr<core::Program> program;
  std::shared_ptr<const core::KernelAst> ast;  // what it was made from
  u32 output_count = 0;                        // of its buffers, the first: those that it writes
  std::vector<i64> variables;
  f64 flops = 0, bytes = 0;
  std::unique_ptr<const KernelText> text;  // null unless a GraphLog is kept
};

// shared_ptr: a kernel is used by several plans, and by the cache until it is evicted.
using KernelRef = std::shared_ptr<const LoadedKernel>;

struct KernelRequest {
  std::shared_ptr<const core::KernelAst> ast;
  core::Device* device;  // the Registry's
};

class KernelCache {
 public:
  // With `keep_text`, kernels keep their texts, as they do where the process has a GraphLog.
  explicit KernelCache(usize capacity, bool keep_text = false)
      : capacity_(capacity), keep_text_(keep_text) {}

  // By request, in order. Equal requests give one kernel. The first error in the requests' order is
  // returned, whichever thread met it.
  Result<std::vector<KernelRef>> get(std::span<const KernelRequest> requests);
  void clear();

 private:
  struct Entry {
    KernelRequest request;
    u64 settings;
    KernelRef kernel;
  };
  KernelRef find(const KernelRequest& request, u64 hash, u64 settings) const;  // mutex_ held
  void insert(const KernelRequest& request, u64 hash, u64 settings, KernelRef kernel);

  const usize capacity_;
  const bool keep_text_;
  std::mutex mutex_;  // guards what follows
  absl::flat_hash_map<u64, std::vector<Entry>> entries_;
  usize count_ = 0;
};

// The settings that a schedule or its kernels depend on, as a word of their keys.
u64 settings_word();

}  // namespace doorbell::engine
