// Dropping, staging and loading.
#include "tensor/engine/exchanges.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "core/device/registry.h"
#include "core/schedule/bucket.h"
#include "core/schedule/exchange.h"
#include "core/uop/placement.h"
#include "tensor/engine/must.h"
#include "tensor/engine/realize.h"

namespace doorbell::engine {
namespace {

using core::Registry;
using core::Schedule;
using core::ScheduleBuffer;
using core::ScheduleItem;

bool is_remote(u16 number) { return Registry::instance().is_remote(number); }

bool is_own_work(const ScheduleItem& item, const Schedule& schedule) {
  if (!is_remote(item.device)) return true;
  return item.kind == ScheduleItem::Kind::Copy && !core::is_exchange(item) &&
         !is_remote(schedule.buffers[item.buffers[1]].device);
}

bool leaves_process(const ScheduleItem& item, const Schedule& schedule) {
  if (item.kind != ScheduleItem::Kind::Copy) return false;
  return core::is_exchange(item) || is_remote(item.device) ||
         is_remote(schedule.buffers[item.buffers[1]].device);
}

// The queue that exchanges must not wait for another device: that one's later work may wait for it.
class Stager {
 public:
  explicit Stager(Schedule* schedule) : schedule_(*schedule), host_(device("CPU").index()) {}

  void add(ScheduleItem item) {
    if (!leaves_process(item, schedule_) || is_taken(item))
      return items_.push_back(std::move(item));
    const std::vector<u32> given = item.buffers;
    const usize outputs = given.size() / 2;
    for (usize i = 0; i < given.size(); ++i)
      if (needs_staging(given[i])) item.buffers[i] = on_host(given[i]);
    const std::vector<u32> staged = item.buffers;
    for (usize i = outputs; i < given.size(); ++i)
      if (staged[i] != given[i]) copy(staged[i], given[i]);
    items_.push_back(std::move(item));
    for (usize i = 0; i < outputs; ++i)
      if (staged[i] != given[i]) copy(given[i], staged[i]);
  }
  std::vector<ScheduleItem> take() { return std::move(items_); }

 private:
  // Whether the exchange reads and writes the devices' own memory, in every process.
  static bool is_taken(const ScheduleItem& item) {
    if (!core::is_exchange(item)) return false;
    const Registry& registry = Registry::instance();
    const u16 placement = static_cast<u16>(item.ast->sink.arg(3));
    return std::ranges::all_of(core::placement_of(placement).devices, [&](u16 device) {
      return registry.communicator()->takes_memory_of(registry.name_of(device));
    });
  }
  bool needs_staging(u32 buffer) const {
    const u16 at = schedule_.buffers[buffer].device;
    return !is_remote(at) && !Registry::instance().name_of(at).starts_with("CPU");
  }
  u32 on_host(u32 like) {
    ScheduleBuffer made = schedule_.buffers[like];
    made.kind = ScheduleBuffer::Kind::Temporary;
    made.device = host_;
    schedule_.buffers.push_back(made);
    return static_cast<u32>(schedule_.buffers.size() - 1);
  }
  void copy(u32 to, u32 from) {
    items_.push_back({ScheduleItem::Kind::Copy, schedule_.buffers[to].device, nullptr, {to, from}});
  }

  Schedule& schedule_;
  const u16 host_;
  std::vector<ScheduleItem> items_;
};

}  // namespace

bool is_of_others(u16 device) {
  return device != 0 && !core::is_placement(device) && is_remote(static_cast<u16>(device - 1));
}

void keep_own_work(Schedule* schedule) {
  if (Registry::instance().communicator() == nullptr) return;
  core::bucket_exchanges(schedule, {});
  std::erase_if(schedule->items,
                [&](const ScheduleItem& item) { return !is_own_work(item, *schedule); });
  Stager stager(schedule);
  for (ScheduleItem& item : schedule->items) stager.add(std::move(item));
  schedule->items = stager.take();
}

KernelRef load_exchange(const ScheduleItem& item, const Schedule& schedule) {
  struct Loaded {
    std::mutex mutex;
    std::vector<std::pair<core::Exchange, KernelRef>> all;
  };
  static Loaded& loaded = *new Loaded;  // never freed: plans outlive main()
  core::Exchange exchange = core::exchange_of(item, schedule);
  std::lock_guard lock(loaded.mutex);
  for (const auto& [known, kernel] : loaded.all)
    if (known == exchange) return kernel;
  auto made = std::make_shared<LoadedKernel>();
  made->name = core::describe(exchange);
  made->program = must(Registry::instance().communicator()->load(exchange));
  made->output_count = item.ast->output_count;
  for (u32 buffer : item.buffers) {
    const ScheduleBuffer& memory = schedule.buffers[buffer];
    made->bytes += static_cast<f64>(memory.count * memory.dtype.bytes());
  }
  loaded.all.emplace_back(std::move(exchange), made);
  return made;
}

}  // namespace doorbell::engine
