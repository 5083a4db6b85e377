// The loops are written with the compiler's vectors of 16 floats and compiled for each width that
// the processor may have; the widest that it has is run.
#include "bench/kernels/probe.h"

#include <sys/mman.h>

#include <algorithm>
#include <barrier>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "tools/measure/measure.h"

#if defined(__x86_64__)
#define DOORBELL_WIDE __attribute__((target("avx512f"), noinline))
#define DOORBELL_MIDDLE __attribute__((target("avx2,fma"), noinline))
#endif
#define DOORBELL_PLAIN __attribute__((noinline))

namespace doorbell::bench {

using namespace tools;  // measuring and tables

namespace {

// Several streams walk memory at once, which keeps more loads in flight.
constexpr usize kLanes = 16, kChains = 16, kStreams = 4;
typedef float Vector __attribute__((vector_size(kLanes * 4)));

constexpr usize kFloats = usize{64} << 20;  // 256 MiB: far beyond any cache

// Keeps a result alive.
template <class T>
void use(T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

// clang-format off
#define DOORBELL_EACH_CHAIN(DO) \
  DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)  \
  DO(8) DO(9) DO(10) DO(11) DO(12) DO(13) DO(14) DO(15)
#define DOORBELL_START(i) Vector sum_##i = Vector{} + static_cast<float>(i);
#define DOORBELL_STEP(i) sum_##i = sum_##i * factor + term;
#define DOORBELL_USE(i) use(sum_##i);

// Sixteen independent chains hide the latency of a multiply-add on all current processors. They are
// separate variables, because an array would be in memory. Where a vector is wider than the
// machine's, each counts as several.
#define DOORBELL_LOOPS(attribute, suffix)                                    \
  attribute void multiply_add_##suffix(usize turns) {                        \
    const Vector factor = Vector{} + 0.999999f, term = Vector{} + 1e-7f;     \
    DOORBELL_EACH_CHAIN(DOORBELL_START)                                      \
    for (usize turn = 0; turn < turns; ++turn) {                             \
      DOORBELL_EACH_CHAIN(DOORBELL_STEP)                                     \
      asm volatile("");                                                      \
    }                                                                        \
    DOORBELL_EACH_CHAIN(DOORBELL_USE)                                        \
  }                                                                          \
  attribute void read_##suffix(const float* from, usize count) {             \
    Vector sum_0{}, sum_1{}, sum_2{}, sum_3{};                               \
    const usize part = count / kLanes / kStreams;                            \
    const Vector* vectors = reinterpret_cast<const Vector*>(from);           \
    for (usize i = 0; i < part; ++i) {                                       \
      sum_0 += vectors[i], sum_1 += vectors[part + i];                       \
      sum_2 += vectors[2 * part + i], sum_3 += vectors[3 * part + i];        \
    }                                                                        \
    sum_0 += sum_1 + sum_2 + sum_3;                                          \
    use(sum_0);                                                              \
  }                                                                          \
  attribute void copy_##suffix(float* to, const float* from, usize count) {  \
    const usize part = count / kLanes / kStreams;                            \
    const Vector* source = reinterpret_cast<const Vector*>(from);            \
    Vector* target = reinterpret_cast<Vector*>(to);                          \
    for (usize i = 0; i < part; ++i) {                                       \
      for (usize stream = 0; stream < kStreams; ++stream)                    \
        target[stream * part + i] = source[stream * part + i];               \
      asm volatile(""); /* else it becomes a call of memcpy */               \
    }                                                                        \
  }

DOORBELL_LOOPS(DOORBELL_PLAIN, plain)
#if defined(__x86_64__)
DOORBELL_LOOPS(DOORBELL_MIDDLE, middle)
DOORBELL_LOOPS(DOORBELL_WIDE, wide)
#endif
// clang-format on

struct Loops {
  void (*multiply_add)(usize);
  void (*read)(const float*, usize);
  void (*copy)(float*, const float*, usize);
};

Loops widest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {multiply_add_wide, read_wide, copy_wide};
  if (__builtin_cpu_supports("avx2")) return {multiply_add_middle, read_middle, copy_middle};
#endif
  return {multiply_add_plain, read_plain, copy_plain};
}

// Seconds of the slowest thread, all starting together; the best of several turns, since a peak is
// the machine's speed without other work.
f64 best_seconds(int threads, int turns, const std::function<void(usize)>& body) {
  f64 best = 1e30;
  for (int turn = 0; turn < turns; ++turn) {
    std::barrier start(threads);
    std::vector<f64> seconds(static_cast<usize>(threads));
    const auto run = [&](usize thread) {
      start.arrive_and_wait();
      const f64 begin = now();
      body(thread);
      seconds[thread] = now() - begin;
    };
    std::vector<std::thread> helpers;
    for (usize i = 1; i < seconds.size(); ++i) helpers.emplace_back(run, i);
    run(0);
    for (std::thread& helper : helpers) helper.join();
    best = std::min(best, *std::max_element(seconds.begin(), seconds.end()));
  }
  return best;
}

struct Free {
  void operator()(float* memory) const { std::free(memory); }
};
using Floats = std::unique_ptr<float, Free>;

Floats make_floats(usize count) {
  // Large pages if the system grants them: the peak should not depend on page tables.
  constexpr usize kLargePage = usize{2} << 20;
  const usize bytes = (count * sizeof(float) + kLargePage - 1) / kLargePage * kLargePage;
  Floats floats(static_cast<float*>(std::aligned_alloc(kLargePage, bytes)));
  madvise(floats.get(), bytes, MADV_HUGEPAGE);
  std::fill_n(floats.get(), count, 1.0f);  // touches every page
  return floats;
}

}  // namespace

Peak probe_machine(int threads, bool smoke) {
  const Loops loops = widest();
  const usize turns = smoke ? 1000 : 2000000, floats = smoke ? 1 << 16 : kFloats;
  const int repeats = smoke ? 1 : 7;
  const f64 all = static_cast<f64>(threads);
  Peak peak;
  const f64 arithmetic = best_seconds(threads, repeats, [&](usize) { loops.multiply_add(turns); });
  peak.gflops = all * static_cast<f64>(turns * kChains * kLanes * 2) / arithmetic * 1e-9;
  const Floats from = make_floats(floats), to = make_floats(floats);
  const usize part = floats / static_cast<usize>(threads) / (4 * kLanes) * (4 * kLanes);
  const f64 bytes = all * static_cast<f64>(part * sizeof(float));
  peak.read_gbps = bytes * 1e-9 / best_seconds(threads, repeats, [&](usize thread) {
                     loops.read(from.get() + thread * part, part);
                   });
  peak.copy_gbps = 2 * bytes * 1e-9 / best_seconds(threads, repeats, [&](usize thread) {
                     loops.copy(to.get() + thread * part, from.get() + thread * part, part);
                   });
  return peak;
}

}  // namespace doorbell::bench
