// The order within a queue (queue_races.h).
#include "emulator/core/races/queue_races.h"

#include <fmt/format.h>

#include <utility>

#include "base/util/check.h"

namespace doorbell::emu {

namespace {

// `clock` is behind all of the task.
void join_task(SparseClock& clock, const SparseClock& of_task, u32 agent, u32 time) {
  clock.join(of_task);
  clock.raise(agent, time);
}

}  // namespace

QueueRaces::QueueRaces(AgentRaces& races)
    : races_(races), queue_([&] {
        std::lock_guard lock(races.mutex_);
        return ++races.queues_;
      }()) {
  std::lock_guard lock(races_.mutex_);
  // The host makes the queue, so that it is behind queues that were destroyed: its ring may be one
  // of theirs, which it reads before it begins a packet.
  processor_ = races_.begin(queue_, races_.hand_on());
  processor_->is_processor_ = true;
  processor_->call(fmt::format("the processor of queue {}, before its first packet", queue_));
}

QueueRaces::~QueueRaces() {
  std::lock_guard lock(races_.mutex_);
  open_.push_back({processor_});
  for (const InFlight& one : open_) {
    join_task(races_.released_, one.task->clock_, one.task->agent_, one.task->time_);
    races_.end(*one.task);
  }
}

void QueueRaces::rung(u64 end) {
  std::lock_guard lock(races_.mutex_);
  doorbells_.emplace_back(end, races_.hand_on());
}

void QueueRaces::begin_packet(u64 position, std::string who) {
  processor_->call(std::move(who));
  std::lock_guard lock(races_.mutex_);
  while (!doorbells_.empty() && doorbells_.front().first <= position) doorbells_.pop_front();
  // Found by the write pointer, not by a doorbell: now.
  processor_->clock_.join(doorbells_.empty() ? races_.hand_on() : doorbells_.front().second);
}

void QueueRaces::learn_from_host() {
  std::lock_guard lock(races_.mutex_);
  processor_->clock_.join(races_.hand_on());
}

// Those that the processor has come behind by another way are forgotten.
std::shared_ptr<RaceTask> QueueRaces::add(bool is_grid, const RaceTask* before) {
  std::erase_if(open_, [&](const InFlight& one) {
    return one.task->done_ && processor_->clock_.of(one.task->agent_) >= one.task->time_;
  });
  SparseClock clock = processor_->clock_;
  clock.raise(processor_->agent_, processor_->time_);
  ++processor_->time_;
  if (before != nullptr) join_task(clock, before->clock_, before->agent_, before->time_);
  std::shared_ptr<RaceTask> task = races_.begin(queue_, clock);
  open_.push_back({task, is_grid});
  return task;
}

std::shared_ptr<RaceTask> QueueRaces::launch(std::string who, u32 parts) {
  std::lock_guard lock(races_.mutex_);
  std::shared_ptr<RaceTask> task = add(true);
  task->call(std::move(who));
  task->parts_ = parts;
  return task;
}

std::shared_ptr<RaceTask> QueueRaces::launch_behind(const RaceTask& before, std::string who) {
  std::lock_guard lock(races_.mutex_);
  std::shared_ptr<RaceTask> task = add(true, &before);
  task->call(std::move(who));
  return task;
}

QueueRaces::Event QueueRaces::add_event(bool is_behind_grids) {
  std::lock_guard lock(races_.mutex_);
  Event event;
  for (const InFlight& one : open_)
    if (is_behind_grids || !one.is_grid) event.behind.push_back(one.task);
  event.task = add(false);
  event.task->who_ = processor_->who_;
  return event;
}

void QueueRaces::begin(Event& event) {
  std::lock_guard lock(races_.mutex_);
  for (const auto& before : event.behind)
    join_task(event.task->clock_, before->clock_, before->agent_, before->time_);
  event.behind.clear();
}

void QueueRaces::end(Event& event) {
  std::lock_guard lock(races_.mutex_);
  races_.end(*event.task);
}

void QueueRaces::join(bool grids_only) {
  std::lock_guard lock(races_.mutex_);
  std::erase_if(open_, [&](const InFlight& one) {
    if (grids_only && !one.is_grid) return false;
    join_task(processor_->clock_, one.task->clock_, one.task->agent_, one.task->time_);
    return true;
  });
}

}  // namespace doorbell::emu
