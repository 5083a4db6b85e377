// Waiting for a fence on the host, queue by queue.
#include "hcq/signal/fence.h"

#include <algorithm>

#include "base/util/try.h"
#include "hcq/queue/queue.h"

namespace doorbell::hcq {

bool Fence::done() const {
  return std::all_of(begin(), end(),
                     [](const Point& point) { return point.queue->done(point.position); });
}

Result<void> Fence::wait() const {
  for (const Point& point : points_) TRY(point.queue->wait(point.position));
  return {};
}

}  // namespace doorbell::hcq
