// timed(): what DEBUG=2 shows of one item of a plan, and what a trace holds of it where its device
// does not write the times itself: it is waited for before and after. For .cc files of the engine.
#pragma once

#include <string>

#include "base/os/host.h"
#include "base/util/log.h"
#include "core/util/config.h"
#include "hcq/trace/trace.h"
#include "tensor/engine/must.h"
#include "tensor/engine/plan.h"

namespace doorbell::engine {

// Whether items are to be timed.
inline bool is_timed() { return core::config().debug >= 2 || hcq::Trace::of_process() != nullptr; }

template <class Launch>
void timed(const PlanItem& item, const Launch& launch) {
  const bool traces_itself = item.device->traces();
  if (traces_itself && core::config().debug < 2) return launch();
  const std::string& device = item.device->name();
  must(item.device->synchronize());
  const u64 begin_ns = os::host_clock().now_ns();
  launch();
  must(item.device->synchronize());
  const u64 end_ns = os::host_clock().now_ns();
  const bool is_kernel = item.kernel != nullptr;
  if (hcq::Trace* trace = hcq::Trace::of_process(); trace != nullptr && !traces_itself)
    trace->add({device, is_kernel ? "compute" : "copy", is_kernel ? item.kernel->name : "copy",
                is_kernel ? "kernel" : "copy", begin_ns, end_ns});
  if (core::config().debug < 2) return;
  const f64 seconds = static_cast<f64>(end_ns - begin_ns) * 1e-9;
  if (is_kernel)
    log().debug("{:<7} {:<60} {:>10.2f} us {:>9.2f} GFLOPS {:>8.2f} GB/s", device,
                item.kernel->name, seconds * 1e6, item.kernel->flops / seconds * 1e-9,
                item.kernel->bytes / seconds * 1e-9);
  else
    log().debug("{:<7} {:<60} {:>10.2f} us {:>9} {:>15.2f} GB/s", device,
                "copy " + std::to_string(item.copy_bytes) + " bytes", seconds * 1e6, "",
                static_cast<f64>(item.copy_bytes) / seconds * 1e-9);
}

}  // namespace doorbell::engine
