// First which exchanges are joined, then where everything goes.
#include "core/schedule/bucket.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/util/check.h"
#include "core/device/registry.h"
#include "core/schedule/exchange.h"
#include "core/uop/placement.h"

namespace doorbell::core {
namespace {

std::span<const u32> writes(const ScheduleItem& item) {
  const usize count = item.ast == nullptr ? 1 : item.ast->output_count;
  return std::span(item.buffers).first(count);
}
std::span<const u32> reads(const ScheduleItem& item) {
  return std::span(item.buffers).subspan(writes(item).size());
}

i64 kind_of(const ScheduleItem& item) { return item.ast->sink.arg(1); }

// Which sums may be joined: of an op, a dtype and a group.
using Key = std::tuple<i64, i64, Scalar>;

// Whether the groups, which are placements, have devices in common.
bool overlaps(i64 a, i64 b) {
  const std::span<const u16> others = placement_of(static_cast<u16>(b)).devices;
  return std::ranges::any_of(placement_of(static_cast<u16>(a)).devices, [&](u16 device) {
    return std::ranges::find(others, device) != others.end();
  });
}

class Buckets {
 public:
  Buckets(Schedule& schedule, const BucketBytes& limits) : schedule_(schedule), limits_(limits) {}

  void run() {
    find_sums();
    if (sums_.size() < 2) return;
    find_needs();
    join();
    place();
  }

 private:
  // One sum: an exchange of each device of its group.
  struct Sum {
    Key key;
    i64 bytes = 0;
    usize own = kNone;         // the item of this process
    std::vector<bool> needed;  // sums that come before it, by number
  };
  static constexpr usize kNone = ~usize{0};

  bool is_sum(const ScheduleItem& item) const {
    return is_exchange(item) && kind_of(item) == static_cast<i64>(ExchangeKind::Reduce);
  }
  // Whether it moves something between processes in another way.
  bool is_other(const ScheduleItem& item) const {
    if (item.kind != ScheduleItem::Kind::Copy || is_sum(item)) return false;
    if (is_exchange(item))
      return kind_of(item) != static_cast<i64>(ExchangeKind::Own) &&
             kind_of(item) != static_cast<i64>(ExchangeKind::StandIn);
    const Registry& registry = Registry::instance();
    return registry.rank_of(item.device) !=
           registry.rank_of(schedule_.buffers[item.buffers[1]].device);
  }
  Key key_of(const ScheduleItem& item) const {
    return {item.ast->sink.arg(2), item.ast->sink.arg(3),
            schedule_.buffers[item.buffers[1]].dtype.scalar};
  }

  void find_sums();
  void find_needs();
  void join();
  void close(std::vector<usize>* open);
  void place();
  ScheduleItem joined(const std::vector<usize>& members) const;

  Schedule& schedule_;
  const BucketBytes limits_;
  std::vector<Sum> sums_;
  std::vector<usize> sum_of_;                // by item
  std::vector<std::vector<usize>> buckets_;  // of items, in order
};

// The n-th exchanges of all devices of a group are one sum.
void Buckets::find_sums() {
  std::map<std::pair<Key, u16>, usize> seen;         // how many, by device
  std::map<std::pair<Key, usize>, usize> number_of;  // by how many came before
  sum_of_.assign(schedule_.items.size(), kNone);
  for (usize at = 0; at < schedule_.items.size(); ++at) {
    const ScheduleItem& item = schedule_.items[at];
    if (!is_sum(item)) continue;
    const Key key = key_of(item);
    const usize before = seen[{key, item.device}]++;
    const auto [found, is_new] = number_of.try_emplace({key, before}, sums_.size());
    if (is_new) sums_.push_back({.key = key, .needed = {}});
    Sum& sum = sums_[found->second];
    sum_of_[at] = found->second;
    const ScheduleBuffer& from = schedule_.buffers[item.buffers[1]];
    sum.bytes = from.count * from.dtype.bytes();
    if (!Registry::instance().is_remote(item.device)) sum.own = at;
  }
}

// What is in a buffer needs sums that came before; so does whoever overwrites what a sum reads, or
// what reads with its results.
void Buckets::find_needs() {
  using Needs = std::vector<bool>;
  const auto add = [](Needs& to, const Needs& more) {
    for (usize i = 0; i < more.size(); ++i)
      if (more[i]) to[i] = true;
  };
  for (Sum& sum : sums_) sum.needed.resize(sums_.size());
  // Empty: none.
  std::vector<Needs> content(schedule_.buffers.size()), readers(schedule_.buffers.size());
  for (usize at = 0; at < schedule_.items.size(); ++at) {
    const ScheduleItem& item = schedule_.items[at];
    Needs needs(sums_.size());
    for (u32 buffer : item.buffers) add(needs, content[buffer]);
    for (u32 buffer : writes(item)) add(needs, readers[buffer]);
    if (sum_of_[at] != kNone) {
      add(sums_[sum_of_[at]].needed, needs);
      needs[sum_of_[at]] = true;
    }
    if (std::ranges::find(needs, true) == needs.end()) continue;
    for (u32 buffer : reads(item)) {
      readers[buffer].resize(sums_.size());
      add(readers[buffer], needs);
    }
    for (u32 buffer : writes(item)) content[buffer] = needs;
  }
}

void Buckets::close(std::vector<usize>* open) {
  if (open->size() > 1) {
    std::vector<usize> items;
    for (usize sum : *open) items.push_back(sums_[sum].own);
    buckets_.push_back(std::move(items));
  }
  open->clear();
}

// A bucket ends before what else moves between processes: their order stays.
void Buckets::join() {
  std::vector<usize> open;
  std::vector<bool> is_known(sums_.size());
  std::set<i64> begun;  // groups that had a bucket
  i64 bytes = 0;
  for (usize at = 0; at < schedule_.items.size(); ++at) {
    if (is_other(schedule_.items[at])) close(&open);
    const usize number = sum_of_[at];
    if (number == kNone || is_known[number]) continue;
    is_known[number] = true;
    const Sum& sum = sums_[number];
    const auto is_needed = [&](usize member) { return static_cast<bool>(sum.needed[member]); };
    const i64 group = std::get<1>(sum.key);
    const bool is_own = sum.own != kNone;
    if (sum.bytes > limits_.of_member) {  // before the bucket, unless it needs a member
      if (std::ranges::any_of(open, is_needed)) close(&open);
      continue;
    }
    if (!open.empty() && sums_[open[0]].key != sum.key) {
      if (overlaps(std::get<1>(sums_[open[0]].key), group)) close(&open);
    } else if (is_own && !open.empty()) {
      const i64 limit = begun.contains(group) ? limits_.most : limits_.first;
      if (bytes + sum.bytes > limit || std::ranges::any_of(open, is_needed)) {
        begun.insert(group);
        close(&open);
      }
    }
    if (!is_own) continue;
    if (open.empty()) bytes = 0;
    bytes += sum.bytes;
    open.push_back(number);
  }
  close(&open);
}

ScheduleItem Buckets::joined(const std::vector<usize>& members) const {
  const ScheduleItem& first = schedule_.items[members[0]];
  ScheduleItem made{first.kind, first.device, nullptr, {}};
  for (usize part : {usize{0}, usize{1}})
    for (usize member : members) made.buffers.push_back(schedule_.items[member].buffers[part]);
  made.ast = exchange_ast(first.ast->sink.dtype(), first.device, first.ast->sink.args().subspan(1),
                          static_cast<u32>(members.size()));
  return made;
}

// In the order of before; what conflicts with members that wait for the last one waits with them.
void Buckets::place() {
  std::vector<ScheduleItem> placed, late;
  usize next = 0;
  std::vector<bool> reads_late(schedule_.buffers.size()), writes_late(schedule_.buffers.size());
  const auto delay = [&](const ScheduleItem& item) {
    for (u32 buffer : reads(item)) reads_late[buffer] = true;
    for (u32 buffer : writes(item)) writes_late[buffer] = true;
  };
  const auto conflicts = [&](const ScheduleItem& item) {
    return std::ranges::any_of(item.buffers, [&](u32 buffer) { return writes_late[buffer]; }) ||
           std::ranges::any_of(writes(item), [&](u32 buffer) { return reads_late[buffer]; });
  };
  for (usize at = 0; at < schedule_.items.size(); ++at) {
    ScheduleItem& item = schedule_.items[at];
    const bool is_member = next < buckets_.size() && std::ranges::binary_search(buckets_[next], at);
    if (is_member) CHECK(!conflicts(item), "item {} of a bucket needs another of it", at);
    if (is_member && at != buckets_[next].back()) {
      delay(item);
    } else if (is_member) {
      placed.push_back(joined(buckets_[next++]));
      std::ranges::move(late, std::back_inserter(placed));
      late.clear();
      reads_late.assign(reads_late.size(), false);
      writes_late.assign(writes_late.size(), false);
    } else if (conflicts(item)) {
      delay(item);
      late.push_back(std::move(item));
    } else {
      placed.push_back(std::move(item));
    }
  }
  schedule_.items = std::move(placed);
}

}  // namespace

void bucket_exchanges(Schedule* schedule, const BucketBytes& limits) {
  Buckets(*schedule, limits).run();
}

}  // namespace doorbell::core
