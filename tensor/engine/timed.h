// timed(): what DEBUG=2 shows of one item of a plan: it is waited for, and its time is logged. For
// .cc files of the engine.
#pragma once

#include <chrono>
#include <string>

#include "base/util/log.h"
#include "tensor/engine/must.h"
#include "tensor/engine/plan.h"

namespace doorbell::engine {

template <class Launch>
void timed(const PlanItem& item, const Launch& launch) {
  const auto start = std::chrono::steady_clock::now();
  launch();
  must(item.device->synchronize());
  const std::chrono::duration<f64> spent = std::chrono::steady_clock::now() - start;
  const f64 seconds = spent.count();
  if (item.kernel)
    log().debug("{:<7} {:<40} {:>10.2f} us {:>9.2f} GFLOPS {:>8.2f} GB/s", item.device->name(),
                item.kernel->name, seconds * 1e6, item.kernel->flops / seconds * 1e-9,
                item.kernel->bytes / seconds * 1e-9);
  else
    log().debug("{:<7} {:<40} {:>10.2f} us {:>9} {:>15.2f} GB/s", item.device->name(),
                "copy " + std::to_string(item.copy_bytes) + " bytes", seconds * 1e6, "",
                static_cast<f64>(item.copy_bytes) / seconds * 1e-9);
}

}  // namespace doorbell::engine
