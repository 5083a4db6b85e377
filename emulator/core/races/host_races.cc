// The host's accesses, judged like others'.
#include "emulator/core/races/host_races.h"

#include "base/util/format.h"

namespace doorbell::emu {

HostRaces::HostRaces(AgentRaces& races, Checks& checks, const Check& rule)
    : races_(races), checks_(checks), rule_(rule) {
  std::lock_guard lock(races_.mutex_);
  task_ = races_.begin(++races_.queues_, {});
  task_->is_processor_ = true;
  task_->call("the host");
  races_.host_ = task_.get();
}

HostRaces::~HostRaces() {
  std::lock_guard lock(races_.mutex_);
  races_.host_ = nullptr;
  races_.end(*task_);
}

Result<void> HostRaces::access(const void* at, u64 bytes, bool is_write) {
  const u8* host = nullptr;
  {
    std::lock_guard lock(races_.mutex_);
    host = races_.host_of(static_cast<const u8*>(at));
    races_.part_from(races_.released_);
    task_->clock_.join(races_.released_);
    task_->site_.reset();
  }
  const auto conflict =
      task_->access(host, bytes, is_write ? AgentAccess::Write : AgentAccess::Read);
  if (conflict)
    checks_.report(rule_, fmt::format("the host {} {:#x} bytes at {}, whose byte {:#x} {}",
                                      is_write ? "writes" : "reads", bytes, at,
                                      static_cast<u64>(conflict->at - host),
                                      task_->describe(*conflict).substr(sizeof "which " - 1)));
  return {};
}

}  // namespace doorbell::emu
