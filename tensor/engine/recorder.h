// Recorder: while one is open on a thread, realize() also records the plans that it runs, with
// their Buffers. For replaying the record see replay.h.
//
// Thread safety: for one thread; realisations of other threads are not recorded.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tensor/engine/plan.h"

namespace doorbell::engine {

// One realisation as it ran.
struct RecordedRun {
  std::shared_ptr<const Plan> plan;  // shared with the cache, as everywhere
  std::vector<core::UOpRef> inputs;  // Buffer nodes, as GraphKey numbers them
  std::vector<core::BoundVariable> variables;
  std::vector<core::UOpRef> results;  // by root
};

class Recorder {
 public:
  // Opens one for a scope; null closes the open one for the scope.
  class Scope {
   public:
    explicit Scope(Recorder* recorder);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Recorder* previous_;
  };
  static Recorder* current();

  void add(const std::shared_ptr<const Plan>& plan, const core::GraphKey& key,
           std::span<const core::UOpRef> results);

  std::vector<RecordedRun> runs;
};

}  // namespace doorbell::engine
