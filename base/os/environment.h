// Environment variables as a value. Only runtime/ and tools/ read those of the process; other code
// is passed this.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/util/result.h"

namespace doorbell::os {

class Environment {
 public:
  Environment() = default;
  explicit Environment(std::map<std::string, std::string, std::less<>> variables)
      : variables_(std::move(variables)) {}

  // An empty variable counts as unset.
  std::string_view get(std::string_view name) const {
    auto found = variables_.find(name);
    return found == variables_.end() ? std::string_view() : std::string_view(found->second);
  }
  // By name.
  const std::map<std::string, std::string, std::less<>>& all() const { return variables_; }

 private:
  std::map<std::string, std::string, std::less<>> variables_;
};

// Where this user's caches live: $CACHEDIR, or doorbell/ in $XDG_CACHE_HOME or in ~/.cache (macOS:
// ~/Library/Caches). Fails when not even HOME is set. The folder may not exist yet.
Result<std::string> cache_folder(const Environment& environment);

}  // namespace doorbell::os
