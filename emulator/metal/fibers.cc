// Fibers by ucontext, with stacks that are kept.
#include "emulator/metal/fibers.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "emulator/metal/rules.h"

namespace doorbell::emu::metal {
namespace {

constexpr usize kStackBytes = 128 << 10;
constexpr usize kSimdgroup = 32;

struct Fiber {
  enum class State { Ready, AtBarrier, AtMatrices, Done } state = State::Ready;
  ucontext_t context{};
  // AtMatrices: two elements each.
  const f32 *a = nullptr, *b = nullptr, *c = nullptr;
  f32* d = nullptr;
};
using State = Fiber::State;

// Of element e of thread l. [ml-explore/mlx mlx/backend/metal/kernels/steel/gemm/mma.h, BlockMMA:
// qid, sm and sn, at 13619f4]
struct Element {
  usize row, column;
};
Element element_of(usize l, usize e) {
  const usize quad = l / 4;
  return {(quad & 4) + l / 2 % 4, (quad & 2) * 2 + l % 2 * 2 + e};
}

void multiply(std::span<Fiber> lanes) {
  f32 a[8][8], b[8][8], made[kSimdgroup][2];
  for (usize l = 0; l < kSimdgroup; ++l) {
    for (usize e = 0; e < 2; ++e) {
      const Element at = element_of(l, e);
      a[at.row][at.column] = lanes[l].a[e];
      b[at.row][at.column] = lanes[l].b[e];
    }
  }
  for (usize l = 0; l < kSimdgroup; ++l) {
    for (usize e = 0; e < 2; ++e) {
      const Element at = element_of(l, e);
      made[l][e] = lanes[l].c[e];
      for (usize k = 0; k < 8; ++k)
        made[l][e] = std::fma(a[at.row][k], b[k][at.column], made[l][e]);
    }
  }
  for (usize l = 0; l < kSimdgroup; ++l) std::copy_n(made[l], 2, lanes[l].d);
}

// One set for the process: kernels run one at a time.
class Fibers {
 public:
  static Fibers& all() {
    static Fibers& fibers = *new Fibers;
    return fibers;
  }

  std::optional<KernelFault> run(RunItem* run, void* const* arguments, const Position& group,
                                 const std::vector<Position>& items);

  Fiber& current() { return fibers_[current_]; }
  // From a fiber, until it is ready again.
  void leave(State state) {
    current().state = state;
    swapcontext(&current().context, &scheduler_);
  }

 private:
  static void entry() {
    Fibers& all = Fibers::all();
    all.run_(all.arguments_, &all.group_, &(*all.items_)[all.current_]);
    all.current().state = State::Done;
  }
  void start(const std::vector<Position>& items);
  usize count(std::span<const Fiber> fibers, State state) const {
    return static_cast<usize>(std::ranges::count(fibers, state, &Fiber::state));
  }
  std::optional<KernelFault> run_simdgroup(usize first, usize size);

  std::vector<void*> stacks_;
  std::vector<Fiber> fibers_;
  ucontext_t scheduler_{};
  RunItem* run_ = nullptr;
  void* const* arguments_ = nullptr;
  Position group_{};
  const std::vector<Position>* items_ = nullptr;
  usize current_ = 0;
};

void Fibers::start(const std::vector<Position>& items) {
  while (stacks_.size() < items.size())
    stacks_.push_back(mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  fibers_.resize(items.size());
  for (usize i = 0; i < items.size(); ++i) {
    Fiber& fiber = fibers_[i];
    fiber.state = State::Ready;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = stacks_[i];
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = &scheduler_;
    makecontext(&fiber.context, entry, 0);
  }
}

// Until none of its threads is ready.
std::optional<KernelFault> Fibers::run_simdgroup(usize first, usize size) {
  const std::span<Fiber> lanes(fibers_.data() + first, size);
  for (;;) {
    for (current_ = first; current_ < first + size; ++current_)
      if (current().state == State::Ready) swapcontext(&scheduler_, &current().context);
    const usize waiting = count(lanes, State::AtMatrices);
    if (waiting == 0) return {};
    if (waiting < kSimdgroup)
      return KernelFault{&kSimdgroupRule,
                         fmt::format("{} of {} threads come to it", waiting, size)};
    multiply(lanes);
    for (Fiber& lane : lanes) lane.state = State::Ready;
  }
}

std::optional<KernelFault> Fibers::run(RunItem* run, void* const* arguments, const Position& group,
                                       const std::vector<Position>& items) {
  run_ = run;
  arguments_ = arguments;
  group_ = group;
  items_ = &items;
  start(items);
  for (;;) {
    for (usize first = 0; first < items.size(); first += kSimdgroup) {
      const usize size = std::min(kSimdgroup, items.size() - first);
      if (auto wrong = run_simdgroup(first, size)) return wrong;
    }
    const usize done = count(fibers_, State::Done);
    if (done == items.size()) return {};
    if (done > 0)
      return KernelFault{&kBarrier, fmt::format("{} threads of a group ended, {} are at a barrier",
                                                done, items.size() - done)};
    for (Fiber& fiber : fibers_) fiber.state = State::Ready;
  }
}

}  // namespace

std::optional<KernelFault> run_group(RunItem* run, void* const* arguments, const Position& group,
                                     const std::vector<Position>& items) {
  return Fibers::all().run(run, arguments, group, items);
}

void wait_at_barrier() { Fibers::all().leave(State::AtBarrier); }

void multiply_matrices(const f32* a, const f32* b, const f32* c, f32* d) {
  Fiber& fiber = Fibers::all().current();
  fiber.a = a, fiber.b = b, fiber.c = c, fiber.d = d;
  Fibers::all().leave(State::AtMatrices);
}

}  // namespace doorbell::emu::metal
