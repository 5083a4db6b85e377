// Fence: points of timelines that must be done before something may start. A queue waits for the
// fence that is passed with a submission.
//
// Thread safety: as a value; several threads may read one.
#pragma once

#include <absl/container/inlined_vector.h>

#include "hcq/signal/timeline.h"

namespace doorbell::hcq {

class Queue;

struct Point {
  Queue* queue = nullptr;  // outlives all its points
  Position position = 0;
  bool operator==(const Point&) const = default;
};

class Fence {
 public:
  Fence() = default;
  explicit Fence(Point point) { add(point); }

  // Later positions of a queue include earlier ones.
  void add(Point point) {
    for (Point& held : points_)
      if (held.queue == point.queue) {
        if (held.position < point.position) held.position = point.position;
        return;
      }
    points_.push_back(point);
  }
  void add(const Fence& other) {
    for (const Point& point : other.points_) add(point);
  }
  void clear() { points_.clear(); }
  bool empty() const { return points_.empty(); }
  auto begin() const { return points_.begin(); }
  auto end() const { return points_.end(); }
  usize size() const { return points_.size(); }

  // Waits on the host. wait() reports errors of the queues.
  bool done() const;
  Result<void> wait() const;

 private:
  absl::InlinedVector<Point, 4> points_;
};

}  // namespace doorbell::hcq
