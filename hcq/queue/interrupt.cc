// The one check of the process.
#include "hcq/queue/interrupt.h"

#include <atomic>

namespace doorbell::hcq {

namespace {
constinit std::atomic<InterruptCheck> g_check{nullptr};
}

void set_interrupt_check(InterruptCheck check) { g_check.store(check, std::memory_order_release); }

bool is_interrupted() {
  const InterruptCheck check = g_check.load(std::memory_order_acquire);
  return check != nullptr && check();
}

}  // namespace doorbell::hcq
