// BindingsCache: what launches with the same arguments share: the pipeline for how their params lie
// in buffers, a bind group, and the words of the uniform, which never change. A replay finds all of
// it with one look-up.
//
// Thread safety: under the context's lock.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/container/inlined_vector.h>

#include <memory>
#include <vector>

#include "drivers/webgpu/context.h"

namespace doorbell::webgpu {

// Of a launch: the program's number; number and offset of each buffer; variables.
using LaunchKey = absl::InlinedVector<u64, 20>;

struct Bound {
  ComputePipeline pipeline{};  // of the program
  Owned<BindGroup> group;
  std::vector<u64> memory;  // numbers of what it binds
  u32 slot = 0;             // of the uniform
};

class BindingsCache {
 public:
  explicit BindingsCache(Context& context) : context_(context) {}

  // Null if there is none.
  const Bound* find(const LaunchKey& key) const;
  // A slot for so many words, which are written before later work runs.
  struct Slot {
    u32 number;
    BufferHandle buffer;
    u64 offset;
  };
  Result<Slot> write_words(std::span<const u32> words);
  const Bound* add(LaunchKey key, Bound bound);
  // Memory or a program that is no more.
  void forget_memory(u64 id);
  void forget_program(u64 number);

 private:
  // Beyond these all are dropped: launches whose variables always change find none anyway.
  static constexpr usize kMost = 16384;
  static constexpr u64 kSlabBytes = 64 << 10;

  struct Hash {
    usize operator()(const LaunchKey& key) const;
  };
  template <class Condition>
  void drop(Condition condition);
  u64 slot_bytes() const;

  Context& context_;
  absl::flat_hash_map<LaunchKey, std::unique_ptr<Bound>, Hash> all_;
  std::vector<Owned<BufferHandle>> slabs_;
  std::vector<u32> free_;
};

}  // namespace doorbell::webgpu
