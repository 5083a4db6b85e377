// A kernel (the guest) is merged into an earlier one (the host): everything else that it reads must
// be stored before the host runs.
#include "core/schedule/merge_kernels.h"

#include <algorithm>

#include "base/util/check.h"

namespace doorbell::core {

namespace {

constexpr u32 kNobody = ~u32{0};
// With more stores in one loop, registers and write streams run out.
constexpr usize kMaxStores = 8;

class Merger {
 public:
  Merger(Rewriter& rewriter, const Schedule& schedule, const ScheduleOptions& options,
         std::vector<PlannedKernel>* kernels)
      : rewriter_(rewriter),
        schedule_(schedule),
        options_(options),
        kernels_(*kernels),
        writer_(schedule.buffers.size(), kNobody),
        reader_(schedule.buffers.size(), kNobody),
        read_count_(schedule.buffers.size(), 0),
        elementwise_(kernels->size(), false),
        ops_(kernels->size(), 0) {}

  void run();

 private:
  void look_at(u32 number);
  u32 find_host(u32 number);
  bool can_host(u32 host, u32 guest);
  void merge(u32 host, u32 guest);
  UOp moved(UOp value, const PlannedKernel& host, const PlannedKernel& guest);
  void drop_unread(PlannedKernel* kernel);
  std::vector<UOp> loads_of(const PlannedKernel& kernel);
  const PlannedStore* store_of(const PlannedKernel& kernel, u32 buffer) const;

  Rewriter& rewriter_;
  const Schedule& schedule_;
  const ScheduleOptions& options_;
  std::vector<PlannedKernel>& kernels_;
  std::vector<u32> writer_;        // by buffer: the kernel that stores it
  std::vector<u32> reader_;        // by buffer: the last elementwise kernel that reads it
  std::vector<u32> read_count_;    // by buffer: kernels that read it
  std::vector<bool> elementwise_;  // by kernel
  std::vector<usize> ops_;         // by kernel: nodes of its values
  std::vector<std::pair<UOp, UOp>> replacements_;  // of the current merge
};

void Merger::look_at(u32 number) {
  const PlannedKernel& kernel = kernels_[number];
  if (kernel.kind != ScheduleItem::Kind::Kernel) return;
  UOp value = kernel.stores[0].value;
  elementwise_[number] = true;
  for (UOp u : topological_order(rewriter_.arena(), {&value, 1})) {
    if (u.is(Op::Reduce)) elementwise_[number] = false;
    ops_[number] += is_elementwise(u.op()) && !u.dtype().is_index();
  }
}

const PlannedStore* Merger::store_of(const PlannedKernel& kernel, u32 buffer) const {
  for (const PlannedStore& store : kernel.stores) {
    if (store.buffer == buffer) return &store;
  }
  return nullptr;
}

std::vector<UOp> Merger::loads_of(const PlannedKernel& kernel) {
  UOp value = kernel.stores[0].value;
  std::vector<UOp> order = topological_order(rewriter_.arena(), {&value, 1});
  std::erase_if(order, [](UOp u) { return !u.is(Op::Load); });
  return order;
}

bool Merger::can_host(u32 number, u32 guest_number) {
  const PlannedKernel& guest = kernels_[guest_number];
  const PlannedKernel& host = kernels_[number];
  if (!elementwise_[number] || host.device != guest.device || host.ranges != guest.ranges ||
      host.stores.size() == kMaxStores || ops_[number] + ops_[guest_number] > options_.max_ops) {
    return false;
  }
  usize buffers = host.stores.size() + 1 + host.reads.size();
  bool reads_host = false;
  for (u32 buffer : guest.reads) {
    buffers += std::ranges::find(host.reads, buffer) == host.reads.end();
    if (writer_[buffer] == number)
      reads_host = true;
    else if (writer_[buffer] != kNobody && writer_[buffer] > number)
      return false;
  }
  if (buffers > options_.max_buffers) return false;
  if (!reads_host) return true;
  // The guest must read each element that the host stores in the iteration that stores it.
  return std::ranges::all_of(loads_of(guest), [&](UOp load) {
    UOp index = load.src(0);
    u32 buffer = guest.reads[static_cast<usize>(index.src(0).arg(0)) - 1];
    const PlannedStore* store = store_of(host, buffer);
    return !store || (index.nsrc() == 2 && index.src(1) == store->at);
  });
}

// The latest kernel that the given one can be merged into, or kNobody.
u32 Merger::find_host(u32 number) {
  const PlannedKernel& guest = kernels_[number];
  std::vector<u32> hosts;
  for (u32 buffer : guest.reads) {
    for (u32 host : {writer_[buffer], reader_[buffer]}) {
      if (host != kNobody) hosts.push_back(host);
    }
  }
  std::ranges::sort(hosts, std::greater());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  for (u32 host : hosts) {
    if (can_host(host, number)) return host;
  }
  return kNobody;
}

// An expression of the guest as one of the host: its Params get the host's slots, and what the host
// stores is taken from where it was computed.
UOp Merger::moved(UOp value, const PlannedKernel& host, const PlannedKernel& guest) {
  Arena& arena = rewriter_.arena();
  replacements_.clear();
  for (UOp u : topological_order(arena, {&value, 1})) {
    if (u.is(Op::Load)) {
      u32 buffer = guest.reads[static_cast<usize>(u.src(0).src(0).arg(0)) - 1];
      if (const PlannedStore* store = store_of(host, buffer)) {
        replacements_.emplace_back(u, store->value);
      }
    }
    if (!u.is(Op::Param)) continue;
    u32 buffer = guest.reads[static_cast<usize>(u.arg(0)) - 1];
    auto at = std::ranges::find(host.reads, buffer);
    if (at == host.reads.end()) continue;  // stored by the host
    i64 slot = at - host.reads.begin() + 1;
    UOp param = arena.make(Op::Param, u.dtype(), {}, {slot, u.arg(1)});
    if (param != u) replacements_.emplace_back(u, param);
  }
  return replacements_.empty() ? value : rewriter_.substitute(value, replacements_);
}

void Merger::merge(u32 host_number, u32 guest_number) {
  PlannedKernel& host = kernels_[host_number];
  PlannedKernel& guest = kernels_[guest_number];
  for (u32 buffer : guest.reads) {
    bool known = std::ranges::find(host.reads, buffer) != host.reads.end();
    if (known)
      --read_count_[buffer];
    else if (store_of(host, buffer))
      --read_count_[buffer];
    else
      host.reads.push_back(buffer);
  }
  PlannedStore store = guest.stores[0];
  store.value = moved(store.value, host, guest);
  writer_[store.buffer] = host_number;
  for (u32 buffer : host.reads) reader_[buffer] = host_number;
  host.stores.push_back(store);
  ops_[host_number] += ops_[guest_number];
  guest.stores.clear();
}

// Stores without readers.
void Merger::drop_unread(PlannedKernel* kernel) {
  if (kernel->stores.size() < 2) return;
  std::erase_if(kernel->stores, [&](const PlannedStore& store) {
    bool temporary = schedule_.buffers[store.buffer].kind == ScheduleBuffer::Kind::Temporary;
    return temporary && read_count_[store.buffer] == 0;
  });
}

void Merger::run() {
  for (const PlannedKernel& kernel : kernels_) {
    for (u32 buffer : kernel.reads) ++read_count_[buffer];
  }
  for (u32 number = 0; number < kernels_.size(); ++number) {
    look_at(number);
    u32 host = elementwise_[number] ? find_host(number) : kNobody;
    if (host != kNobody) {
      merge(host, number);
      continue;
    }
    for (const PlannedStore& store : kernels_[number].stores) writer_[store.buffer] = number;
    if (!elementwise_[number]) continue;
    for (u32 buffer : kernels_[number].reads) reader_[buffer] = number;
  }
  for (PlannedKernel& kernel : kernels_) drop_unread(&kernel);
}

}  // namespace

void merge_kernels(Rewriter& rewriter, const Schedule& schedule, const ScheduleOptions& options,
                   std::vector<PlannedKernel>* kernels) {
  Merger(rewriter, schedule, options, kernels).run();
}

}  // namespace doorbell::core
