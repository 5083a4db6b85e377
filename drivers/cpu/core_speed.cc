// Timing loops, and what a core's sizes make of them.
#include "drivers/cpu/core_speed.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "base/util/try.h"

namespace doorbell::cpu {
namespace {

constexpr int kRuns = 7;
constexpr i64 kOperations = 60'000;       // of a run: tens of microseconds
constexpr i64 kBytes = i64{1} << 20;      // loaded in a run, from near caches
constexpr i64 kMostBytes = i64{8} << 20;  // of memory
constexpr i64 kLine = 64;
constexpr u64 kFewest_ns = 1000;  // a shorter run says nothing

class Bench {
 public:
  explicit Bench(os::Clock& clock) : clock_(clock) {}

  // Nanoseconds of the shortest run; `prepare` is not timed.
  Result<f64> shortest(
      const std::function<void()>& run, const std::function<void()>& prepare = [] {}) {
    u64 best = ~u64{0};
    for (int i = 0; i < kRuns; ++i) {
      prepare();
      const u64 begin = clock_.now_ns();
      run();
      best = std::min(best, clock_.now_ns() - begin);
    }
    if (best < kFewest_ns)
      return fail(ErrorKind::Unsupported, "a loop to be timed took {} ns, expected {} or more",
                  best, kFewest_ns);
    return static_cast<f64>(best);
  }

  Result<f64> each(SpeedLoops::Loop loop) {
    if (loop == nullptr) return 0.0;
    TRY(const f64 all_ns, shortest([&] { loop(kOperations); }));
    return all_ns / static_cast<f64>(kOperations);
  }

  Result<CoreSpeed::Fma> fma(const SpeedLoops::Fma& loops) {
    CoreSpeed::Fma speed;
    TRY(speed.each_ns, each(loops.many));
    TRY(speed.chain_ns, each(loops.chain));
    return speed;
  }

 private:
  os::Clock& clock_;
};

}  // namespace

Result<CoreSpeed> measure_core(const SpeedLoops& loops, const os::CoreKind& kind,
                               os::Clock& clock) {
  Bench bench(clock);
  CoreSpeed speed;
  TRY(speed.add_ns, bench.each(loops.add));
  TRY(speed.narrow, bench.fma(loops.narrow));
  TRY(speed.wide, bench.fma(loops.wide));
  if (loops.load == nullptr) return speed;

  const i64 l1 = kind.cache_bytes(1, 32 << 10), l2 = kind.cache_bytes(2, 512 << 10);
  // Half of L1 is surely there; of two and a half times L1 the lines are gone before they are
  // wanted again, and so on.
  const auto rounded = [](i64 bytes) { return std::clamp(bytes, i64{4096}, kMostBytes) & ~1023; };
  const i64 of_l1 = rounded(l1 / 2);
  const i64 of_l2 = rounded(std::max(l2 / 2, 5 * l1 / 2)), of_l3 = rounded(5 * l2 / 2);
  std::vector<u8> memory(static_cast<usize>(std::max({kBytes, of_l1, of_l2, of_l3}) + kLine), 1);
  // Loads of whole registers do not cross lines.
  const u8* data = memory.data() + (-reinterpret_cast<usize>(memory.data()) & (kLine - 1));
  const auto from = [&](i64 bytes) -> Result<f64> {
    const i64 times = std::max<i64>(1, kBytes / bytes);
    TRY(const f64 all_ns, bench.shortest([&] {
      for (i64 i = 0; i < times; ++i) loops.load(data, bytes);
    }));
    return static_cast<f64>(times * bytes) / all_ns;
  };
  TRY(speed.l1, from(of_l1));
  TRY(speed.l2, from(of_l2));
  if (kind.cache_bytes(3, 0) > 0) {
    TRY(speed.l3, from(of_l3));
  }
  if (loops.flush == nullptr) return speed;
  TRY(const f64 far_ns,
      bench.shortest([&] { loops.load(data, kBytes); }, [&] { loops.flush(data, kBytes); }));
  speed.memory = static_cast<f64>(kBytes) / far_ns;
  return speed;
}

}  // namespace doorbell::cpu
