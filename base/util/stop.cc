// Each thread's innermost scope and the one check of the process.
#include "base/util/stop.h"

#include <atomic>
#include <utility>

namespace doorbell {

namespace {

constinit thread_local const StopScope* t_innermost = nullptr;
constinit std::atomic<StopCheck> g_check{nullptr};

}  // namespace

StopScope::StopScope(std::stop_token token) : token_(std::move(token)), outer_(t_innermost) {
  t_innermost = this;
}

StopScope::~StopScope() { t_innermost = outer_; }

bool stop_asked() {
  for (const StopScope* scope = t_innermost; scope != nullptr; scope = scope->outer_)
    if (scope->token_.stop_requested()) return true;
  const StopCheck check = g_check.load(std::memory_order_acquire);
  return check != nullptr && check();
}

void set_stop_check(StopCheck check) { g_check.store(check, std::memory_order_release); }

}  // namespace doorbell
