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
// Kernels that read one buffer and are looked at as hosts, the latest.
constexpr usize kMaxReaders = 8;
// Kernels of so few elements take about as long to launch as to run. They merge over different
// memory too, with more stores.
constexpr f64 kFewElements = 65536;
constexpr usize kMaxSmallStores = 16;
// Of these the latest are looked at as hosts.
constexpr usize kMaxSmall = 8;

// What kernels with equal forms and Ranges have in common: their loops.
struct Form {
  bool merges = false;
  bool contracts = false;    // reads elements again and again: hosts what is made of its results
  bool is_small = false;     // and elementwise
  std::vector<UOp> reduced;  // the Ranges that each of its reductions closes; empty: elementwise
  usize ops = 0;             // nodes of its values
};

class Merger {
 public:
  Merger(Rewriter& rewriter, const Schedule& schedule, const ScheduleOptions& options,
         std::vector<PlannedKernel>* kernels)
      : rewriter_(rewriter),
        schedule_(schedule),
        options_(options),
        kernels_(*kernels),
        writer_(schedule.buffers.size(), kNobody),
        readers_(schedule.buffers.size()),
        read_count_(schedule.buffers.size(), 0),
        forms_(kernels->size()) {}

  void run();

 private:
  void look_at(u32 number);
  void add_reader(u32 buffer, u32 number);
  void merge_small();
  u32 find_host(u32 number);
  bool loops_agree(u32 host, u32 guest);
  bool can_host(u32 host, u32 guest, usize max_stores);
  void merge(u32 host, u32 guest);
  UOp moved(UOp value, const PlannedKernel& host, const PlannedKernel& guest);
  void drop_unread(PlannedKernel* kernel);
  std::vector<UOp> loads_of(const PlannedKernel& kernel, bool in_reductions);
  u32 buffer_of(UOp load, const PlannedKernel& kernel) const {
    return kernel.reads[static_cast<usize>(load.src(0).src(0).arg(0)) - 1];
  }
  const PlannedStore* store_of(const PlannedKernel& kernel, u32 buffer) const;

  Rewriter& rewriter_;
  const Schedule& schedule_;
  const ScheduleOptions& options_;
  std::vector<PlannedKernel>& kernels_;
  std::vector<u32> writer_;                // by buffer: the kernel that stores it
  std::vector<std::vector<u32>> readers_;  // by buffer: kernels that merge and read it, ascending
  std::vector<u32> read_count_;            // by buffer: kernels that read it
  std::vector<Form> forms_;                // by kernel
  std::vector<std::pair<UOp, UOp>> replacements_;  // of the current merge
};

u64 mask_of(std::span<const UOp> ranges) {
  u64 mask = 0;
  for (UOp r : ranges) mask |= r.range_mask();
  return mask;
}

void Merger::look_at(u32 number) {
  const PlannedKernel& kernel = kernels_[number];
  if (kernel.kind != ScheduleItem::Kind::Kernel) return;
  Form& form = forms_[number];
  UOp value = kernel.stores[0].value;
  const std::vector<UOp> order = topological_order(rewriter_.arena(), {&value, 1});
  bool alike = true, streams = false;
  for (UOp u : order) {
    form.ops += is_elementwise(u.op()) && !u.dtype().is_index();
    if (!u.is(Op::Reduce)) continue;
    const auto closed = u.srcs().subspan(1);
    if (form.reduced.empty()) form.reduced.assign(closed.begin(), closed.end());
    alike &= std::ranges::equal(form.reduced, closed);
  }
  const u64 all = mask_of(kernel.ranges) | mask_of(form.reduced);
  for (UOp u : order) streams |= u.is(Op::Load) && (all & ~u.range_mask()) == 0;
  form.merges = form.reduced.empty() || (alike && streams);
  form.contracts = alike && !form.merges;
  f64 elements = 1;
  for (UOp r : kernel.ranges) elements *= static_cast<f64>(r.src(0).vmax());
  form.is_small = form.reduced.empty() && elements <= kFewElements;
}

void Merger::add_reader(u32 buffer, u32 number) {
  std::vector<u32>& readers = readers_[buffer];
  auto at = std::ranges::lower_bound(readers, number);
  if (at == readers.end() || *at != number) readers.insert(at, number);
  if (readers.size() > kMaxReaders) readers.erase(readers.begin());
}

const PlannedStore* Merger::store_of(const PlannedKernel& kernel, u32 buffer) const {
  for (const PlannedStore& store : kernel.stores) {
    if (store.buffer == buffer) return &store;
  }
  return nullptr;
}

// Of all stores, or where `in_reductions` only those that a reduction closes a loop around.
std::vector<UOp> Merger::loads_of(const PlannedKernel& kernel, bool in_reductions) {
  Arena& arena = rewriter_.arena();
  std::vector<UOp> roots;
  for (const PlannedStore& store : kernel.stores) roots.push_back(store.value);
  std::vector<UOp> order = topological_order(arena, roots);
  if (in_reductions) {
    std::erase_if(order, [](UOp u) { return !u.is(Op::Reduce); });
    order = topological_order(arena, order);
  }
  std::erase_if(order, [](UOp u) { return !u.is(Op::Load); });
  return order;
}

// Two reductions must run in the same loops, over elements that both read. That the one need not
// wait for the other is can_host's to see.
bool Merger::loops_agree(u32 number, u32 guest_number) {
  const PlannedKernel &host = kernels_[number], &guest = kernels_[guest_number];
  if (host.device != guest.device || host.ranges != guest.ranges) return false;
  const std::vector<UOp>& reduced = forms_[guest_number].reduced;
  if (reduced.empty() || forms_[number].reduced.empty()) return true;
  if (forms_[number].reduced != reduced) return false;
  const u64 all = mask_of(guest.ranges) | mask_of(reduced);
  const std::vector<UOp> theirs = loads_of(host, true);
  return std::ranges::any_of(loads_of(guest, true), [&](UOp load) {
    return (all & ~load.range_mask()) == 0 && std::ranges::any_of(theirs, [&](UOp other) {
             return buffer_of(load, guest) == buffer_of(other, host) &&
                    std::ranges::equal(load.src(0).srcs().subspan(1),
                                       other.src(0).srcs().subspan(1));
           });
  });
}

bool Merger::can_host(u32 number, u32 guest_number, usize max_stores) {
  const PlannedKernel& guest = kernels_[guest_number];
  const PlannedKernel& host = kernels_[number];
  const Form &form = forms_[number], &theirs = forms_[guest_number];
  if (!(form.merges || (form.contracts && theirs.reduced.empty())) ||
      host.stores.size() + guest.stores.size() > max_stores ||
      form.ops + theirs.ops > options_.max_ops || !loops_agree(number, guest_number)) {
    return false;
  }
  usize buffers = host.stores.size() + guest.stores.size() + host.reads.size();
  bool reads_host = false;
  for (u32 buffer : guest.reads) {
    if (writer_[buffer] == number) {
      reads_host = true;
      continue;
    }
    buffers += std::ranges::find(host.reads, buffer) == host.reads.end();
    if (writer_[buffer] != kNobody && writer_[buffer] > number) return false;
  }
  if (buffers > options_.max_buffers) return false;
  if (!reads_host) return !form.contracts;
  // A reduction of the guest cannot begin before those of the host have ended.
  if (!forms_[number].reduced.empty() && std::ranges::any_of(loads_of(guest, true), [&](UOp load) {
        return store_of(host, buffer_of(load, guest));
      })) {
    return false;
  }
  // The guest must read each element that the host stores in the iteration that stores it.
  return std::ranges::all_of(loads_of(guest, false), [&](UOp load) {
    const PlannedStore* store = store_of(host, buffer_of(load, guest));
    return !store || (load.src(0).nsrc() == 2 && load.src(0).src(1) == store->at);
  });
}

// The latest kernel that the given one can be merged into, or kNobody.
u32 Merger::find_host(u32 number) {
  const PlannedKernel& guest = kernels_[number];
  std::vector<u32> hosts;
  for (u32 buffer : guest.reads) {
    if (writer_[buffer] != kNobody) hosts.push_back(writer_[buffer]);
    hosts.insert(hosts.end(), readers_[buffer].begin(), readers_[buffer].end());
  }
  std::ranges::sort(hosts, std::greater());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  for (u32 host : hosts) {
    if (can_host(host, number, kMaxStores)) return host;
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
      if (const PlannedStore* store = store_of(host, buffer_of(u, guest))) {
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
  for (PlannedStore& store : guest.stores) store.value = moved(store.value, host, guest);
  for (const PlannedStore& store : guest.stores) writer_[store.buffer] = host_number;
  for (u32 buffer : host.reads) add_reader(buffer, host_number);
  host.stores.insert(host.stores.end(), guest.stores.begin(), guest.stores.end());
  Form& form = forms_[host_number];
  form.is_small &= forms_[guest_number].is_small;
  form.ops += forms_[guest_number].ops;
  if (form.reduced.empty()) form.reduced = forms_[guest_number].reduced;
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

// When all that share memory have merged, so that none of those is in the way of another.
void Merger::merge_small() {
  std::vector<u32> hosts;  // the latest, ascending
  for (u32 number = 0; number < kernels_.size(); ++number) {
    if (kernels_[number].stores.empty() || !forms_[number].is_small) continue;
    const auto host = std::find_if(hosts.rbegin(), hosts.rend(),
                                   [&](u32 one) { return can_host(one, number, kMaxSmallStores); });
    if (host != hosts.rend()) {
      merge(*host, number);
      continue;
    }
    hosts.push_back(number);
    if (hosts.size() > kMaxSmall) hosts.erase(hosts.begin());
  }
}

void Merger::run() {
  for (const PlannedKernel& kernel : kernels_) {
    for (u32 buffer : kernel.reads) ++read_count_[buffer];
  }
  for (u32 number = 0; number < kernels_.size(); ++number) {
    look_at(number);
    u32 host = forms_[number].merges ? find_host(number) : kNobody;
    if (host != kNobody) {
      merge(host, number);
      continue;
    }
    for (const PlannedStore& store : kernels_[number].stores) writer_[store.buffer] = number;
    if (!forms_[number].merges) continue;
    for (u32 buffer : kernels_[number].reads) add_reader(buffer, number);
  }
  merge_small();
  for (PlannedKernel& kernel : kernels_) drop_unread(&kernel);
}

}  // namespace

void merge_kernels(Rewriter& rewriter, const Schedule& schedule, const ScheduleOptions& options,
                   std::vector<PlannedKernel>* kernels) {
  Merger(rewriter, schedule, options, kernels).run();
}

}  // namespace doorbell::core
