// Random numbers are exact: the words of Threefry-2x32-20, implemented here a second time from its
// description, and the floats and integers made of them. For the keys of a stream see
// tensor/api/random.cc.
#include <fmt/format.h>

#include <cmath>

#include "base/util/hash.h"
#include "conformance/inputs.h"

namespace doorbell::conformance {
namespace {

// Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11. Low half first.
u64 threefry(u64 counter, u64 key) {
  const u32 keys[3] = {static_cast<u32>(key), static_cast<u32>(key >> 32),
                       static_cast<u32>(key) ^ static_cast<u32>(key >> 32) ^ 0x1bd11bdau};
  constexpr int kTurns[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  u32 low = static_cast<u32>(counter) + keys[0], high = static_cast<u32>(counter >> 32) + keys[1];
  for (u32 block = 0; block < 5; ++block) {
    for (int turn : kTurns[block % 2]) {
      low += high;
      high = (high << turn | high >> (32 - turn)) ^ low;
    }
    low += keys[(block + 1) % 3];
    high += keys[(block + 2) % 3] + block + 1;
  }
  return u64{high} << 32 | low;
}

struct Stream {
  u64 key;
  u64 counter = 0;
  u64 next() { return threefry(counter++, key); }
};

Stream stream_of(const core::Device& device, u64 seed) {
  const int ordinal = device.spec().ordinal;
  return {ordinal == 0 ? seed : hash_of(seed, ordinal)};
}

constexpr u64 kSeed = 0x123456789abcdef0u;

void floats(Trial& trial, DType dtype) {
  Tensor::manual_seed(kSeed);
  Stream stream = stream_of(trial.device(), kSeed);
  const bool wide = dtype == dtypes::f64;
  const int digits = format_of(dtype).mantissa_bits + 1, word = wide ? 64 : 32;
  // Two draws: the second continues where the first ended.
  for (const std::vector<i64>& shape : {std::vector<i64>{7, 11}, {1000}}) {
    const Array want = Array::make(dtype, shape, [&](const Place&) {
      const u64 bits = wide ? stream.next() : static_cast<u32>(stream.next());
      return std::ldexp(static_cast<Real>(bits >> (word - digits)), -digits);
    });
    trial.check(text_of(shape), Tensor::rand(Shape(shape), trial.on(dtype)), want);
  }
}

void integers(Trial& trial) {
  Tensor::manual_seed(kSeed + 1);
  Stream stream = stream_of(trial.device(), kSeed + 1);
  for (const auto& [low, high] : {std::pair<i64, i64>{0, 10}, {-5, 6}, {0, 1 << 30}}) {
    const Array want = Array::make(dtypes::i32, {333}, [&](const Place&) {
      return Real(static_cast<i64>(stream.next() % static_cast<u64>(high - low)) + low);
    });
    trial.check(fmt::format("from {} to {}", low, high),
                Tensor::randint(low, high, {333}, trial.on(dtypes::i32)), want);
  }
}

void normal(Trial& trial) {
  Tensor::manual_seed(kSeed + 2);
  Stream stream = stream_of(trial.device(), kSeed + 2);
  const Array want = Array::make(dtypes::f32, {501}, [&](const Place&) {
    const u64 bits = stream.next();
    const Real low = std::ldexp(Real(static_cast<u32>(bits) >> 8), -24);
    const Real high = std::ldexp(Real(bits >> 40), -24);
    return std::sqrt(-2 * std::log(1 - low)) * std::cos(2 * std::acos(-1.0L) * high);
  });
  trial.check("normal", Tensor::randn({501}, trial.on(dtypes::f32)), want,
              {.absolute = 1e-5, .relative = 1e-5});
}

void permutation(Trial& trial) {
  Tensor::manual_seed(kSeed + 3);
  const std::vector<i64> order =
      Tensor::randperm(300, {.device = trial.device().name()}).to_vector<i64>();
  std::vector<bool> seen(300);
  i64 fixed = 0;
  for (usize i = 0; i < order.size(); ++i) {
    trial.require(order[i] >= 0 && order[i] < 300 && !seen[static_cast<usize>(order[i])],
                  fmt::format("place {} holds {}", i, order[i]));
    if (order[i] >= 0 && order[i] < 300) seen[static_cast<usize>(order[i])] = true;
    fixed += order[i] == static_cast<i64>(i);
  }
  trial.require(order.size() == 300 && fixed < 20,
                fmt::format("{} of {} places are their own", fixed, order.size()));
}

}  // namespace

void add_random_cases(Suite& suite) {
  const auto with_words = [](DType dtype) {
    return Needs{.dtypes = {dtypes::u64, dtype}, .runs = true};
  };
  for (DType dtype : {dtypes::f32, dtypes::f64, dtypes::f16, dtypes::bf16})
    suite.add_alone("random/floats/" + dtype.str(), with_words(dtype),
                    [dtype](Trial& t) { floats(t, dtype); });
  suite.add_alone("random/integers/i32", with_words(dtypes::i32), integers);
  suite.add_alone("random/normal/f32", with_words(dtypes::f32), normal);
  suite.add_alone("random/permutation/300", with_words(dtypes::i32), permutation);
}

}  // namespace doorbell::conformance
