// timed(): runs an item of a plan alone, measures its time and shows it (DEBUG=2). For .cc files of
// the engine.
#pragma once

#include <string>

#include "base/os/host.h"
#include "base/util/log.h"
#include "core/util/config.h"
#include "tensor/engine/execution_plan.h"
#include "tensor/engine/must.h"

namespace doorbell::engine {

inline bool shows_times() { return core::config().debug >= 2; }

inline void show_time(const ExecutionPlan::Item& item, u64 took_ns) {
  const f64 seconds = static_cast<f64>(took_ns) * 1e-9;
  if (item.kernel)
    log().debug("{:<7} {:<60} {:>10.2f} us {:>9.2f} GFLOPS {:>8.2f} GB/s", item.device->name(),
                item.kernel->name, seconds * 1e6, item.kernel->flops / seconds * 1e-9,
                item.kernel->bytes / seconds * 1e-9);
  else
    log().debug("{:<7} {:<60} {:>10.2f} us {:>9} {:>15.2f} GB/s", item.device->name(),
                "copy " + std::to_string(item.copy_bytes) + " bytes", seconds * 1e6, "",
                static_cast<f64>(item.copy_bytes) / seconds * 1e-9);
}

// Waits for the item's device before and after.
template <class Launch>
void timed(const ExecutionPlan::Item& item, const Launch& launch) {
  must(item.device->synchronize());
  const u64 begin_ns = os::host_clock().now_ns();
  launch();
  must(item.device->synchronize());
  show_time(item, os::host_clock().now_ns() - begin_ns);
}

}  // namespace doorbell::engine
