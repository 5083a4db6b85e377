// TunedPlans: what searches (beam.h) found, on disk: the best plan of each kernel on each target,
// and what moves brought. Lines of text, so that a file of them can be shipped with a model.
//
// Thread safety: all functions may be called from any thread.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "codegen/compile/backend.h"
#include "codegen/compile/disk_table.h"
#include "codegen/search/move_gains.h"

namespace doorbell::codegen {

struct TunedPlan {
  Plan plan;                     // the heuristic's too, where a search found none that is faster
  f64 ns = 0, heuristic_ns = 0;  // of one run, when it was searched
  std::string kernel, target;    // names, for people
};

// What a plan is good for: the renderer, the compiler's target, vectors and threads. Versions of
// this library are not in it: plans outlive them, and those that fit no more are not used.
std::string tuning_target(const Backend& backend);
CacheKey tuning_key(const core::KernelAst& kernel, const Backend& backend);

class TunedPlans {
 public:
  // The file is made when something is stored. Without a path, plans live as long as this.
  TunedPlans(os::Files& files, std::string path);

  // Quick: nothing was found yet, so no key needs to be made.
  bool is_empty();
  std::optional<TunedPlan> find(const CacheKey& key);
  void store(const CacheKey& key, const TunedPlan& plan);
  // The gains of moves, of a target.
  MoveGains gains(const std::string& target);
  void store_gains(const std::string& target, const MoveGains& gains);

  // All on disk, in the order in which they were found.
  std::vector<TunedPlan> all();
  // All plans, as lines; and the lines of such a text as plans: the number of them. Nothing is
  // stored if a line is bad.
  std::string export_text();
  Result<i64> import_text(std::string_view text);

 private:
  bool is_on_disk() const { return !path_.empty() && (stores_ || files_.exists(path_)); }

  os::Files& files_;
  const std::string path_;
  std::mutex mutex_;  // guards the members below
  bool stores_ = false;
  DiskTable plans_, gains_;
  std::map<CacheKey, TunedPlan> found_;  // in this process
};

}  // namespace doorbell::codegen
