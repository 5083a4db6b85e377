// Which sums over processes are joined, and that what needs them comes after; and joined sums are
// what single ones are.
#include "core/schedule/bucket.h"

#include "base/util/format.h"
#include "core/device/counters.h"
#include "core/device/registry.h"
#include "core/schedule/exchange.h"
#include "core/uop/placement.h"
#include "tensor/jit/jit.h"
#include "tests/dist/support.h"

namespace doorbell::test {
namespace {

using core::ExchangeKind;
using core::Schedule;
using core::ScheduleItem;

constexpr i64 kAdd = static_cast<i64>(core::Op::Add);

// A schedule of two processes, of which both do the same. Numbers of buffers are those of this
// process; the other one's follow.
struct Builder {
  Schedule schedule;
  u16 devices[2];
  i64 group;

  Builder() {
    for (int i : {0, 1})
      devices[i] = *core::Registry::instance().index_of(fmt::format("CPU@{}", i));
    if (dist::rank() == 1) std::swap(devices[0], devices[1]);
    const u16 ordered[] = {std::min(devices[0], devices[1]), std::max(devices[0], devices[1])};
    group = core::intern_placement(ordered, core::kReplicated);
  }
  u32 buffer(i64 count = 4, DType dtype = dtypes::f32) {
    for (u16 device : devices)
      schedule.buffers.push_back({core::ScheduleBuffer::Kind::Temporary, 0, dtype, count, device});
    return static_cast<u32>(schedule.buffers.size() - 2);
  }
  // Of one of the two processes alone, or of both.
  void kernel(u32 to, u32 from, int of = -1) {
    auto ast = std::make_shared<core::KernelAst>();
    ast->output_count = 1;
    for (u32 i : {0u, 1u})
      if (of < 0 || of == static_cast<int>(i))
        schedule.items.push_back({ScheduleItem::Kind::Kernel, devices[i], ast, {to + i, from + i}});
  }
  void exchange(u32 to, u32 from, ExchangeKind kind = ExchangeKind::Reduce) {
    const i64 args[] = {static_cast<i64>(kind), kAdd, group};
    for (u32 i : {0u, 1u})
      schedule.items.push_back({ScheduleItem::Kind::Copy,
                                devices[i],
                                core::exchange_ast(schedule.buffers[from].dtype, devices[i], args),
                                {to + i, from + i}});
  }
  // This process's items: "4 <- 0" is a kernel, "2,6 = 0,4" an exchange.
  std::string run(const core::BucketBytes& limits = {}) {
    core::bucket_exchanges(&schedule, limits);
    std::string text;
    for (const ScheduleItem& item : schedule.items) {
      if (item.device != devices[0]) continue;
      const bool exchanges = core::is_exchange(item);
      for (usize i = 0; i < item.buffers.size(); ++i) {
        const bool begins = i == item.ast->output_count;
        text += fmt::format("{}{}",
                            i == 0   ? ""
                            : begins ? (exchanges ? " = " : " <- ")
                                     : ",",
                            item.buffers[i]);
      }
      text += "; ";
    }
    return text;
  }
};

class Bucket : public testing::Test {
 protected:
  void SetUp() override {
    if (dist::world_size() < 2 || dist::rank() > 1)
      GTEST_SKIP() << "the schedules here are those of processes 0 and 1, this is " << dist::rank()
                   << " of " << dist::world_size();
  }
};

TEST_F(Bucket, SumsAreJoinedWhereTheLastOneWas) {
  Builder made;
  const u32 a = made.buffer(), b = made.buffer(), all_a = made.buffer(), all_b = made.buffer();
  const u32 used = made.buffer(), other = made.buffer();
  made.exchange(all_a, a);
  made.kernel(used, all_a);
  made.kernel(other, a);
  made.exchange(all_b, b);
  EXPECT_EQ(made.run(), "10 <- 0; 4,6 = 0,2; 8 <- 4; ");
}

TEST_F(Bucket, ASumThatNeedsAnotherIsApart) {
  for (const int of : {-1, 0, 1}) {  // the need of either process counts
    Builder made;
    const u32 a = made.buffer(), b = made.buffer(), all_a = made.buffer(), all_b = made.buffer();
    made.exchange(all_a, a);
    made.kernel(b, all_a, of);
    made.exchange(all_b, b);
    EXPECT_EQ(made.run(), of == 1 ? "4 = 0; 6 = 2; " : "4 = 0; 2 <- 4; 6 = 2; ");
  }
}

TEST_F(Bucket, WhatASumReadsIsOverwrittenBehindIt) {
  Builder made;
  const u32 a = made.buffer(), b = made.buffer(), all_a = made.buffer(), all_b = made.buffer();
  const u32 c = made.buffer(), all_c = made.buffer(), d = made.buffer();
  made.exchange(all_a, a);
  made.kernel(a, d);
  made.exchange(all_c, c);
  made.kernel(b, a);
  made.exchange(all_b, b);
  EXPECT_EQ(made.run(), "4,10 = 0,8; 0 <- 12; 2 <- 0; 6 = 2; ");
}

TEST_F(Bucket, OtherSumsAndExchangesEndABucket) {
  Builder made;
  const u32 a = made.buffer(), b = made.buffer(4, dtypes::f64), to = made.buffer(8);
  made.exchange(a, a);
  made.exchange(b, b);
  made.exchange(a, a, ExchangeKind::Gather);
  made.exchange(to, to);
  made.exchange(b, b, ExchangeKind::Gather);
  made.exchange(to, to);
  EXPECT_EQ(made.run(), "0 = 0; 2 = 2; 0 = 0; 4 = 4; 2 = 2; 4 = 4; ");
}

TEST_F(Bucket, BytesAreLimited) {
  Builder made;
  for (i64 count : {4, 4, 4, 4, 100, 4}) {
    const u32 to = made.buffer(count);
    made.exchange(to, made.buffer(count));
  }
  EXPECT_EQ(made.run({.first = 32, .most = 48}), "0,4 = 2,6; 8,12 = 10,14; 16 = 18; 20 = 22; ");
}

TEST_F(Bucket, WhatReadsWithASumIsOverwrittenBehindIt) {
  Builder made;
  const u32 a = made.buffer(), all_a = made.buffer(), c = made.buffer(), w = made.buffer();
  const u32 y = made.buffer();
  made.exchange(all_a, a);
  made.kernel(y, all_a);
  made.kernel(y, w);  // behind the other kernel
  made.exchange(w, c);
  EXPECT_EQ(made.run(), "2 = 0; 8 <- 2; 8 <- 6; 6 = 4; ");
}

TEST_F(Bucket, ALargeSumIsApartAndEndsABucketThatItNeeds) {
  for (const bool needs : {false, true}) {
    Builder made;
    const u32 a = made.buffer(), b = made.buffer(), all_a = made.buffer(), all_b = made.buffer();
    const u32 large = made.buffer(8193), all = made.buffer(8193);
    made.exchange(all_a, a);
    if (needs) made.kernel(large, all_a);
    made.exchange(all, large);
    made.exchange(all_b, b);
    EXPECT_EQ(made.run(), needs ? "4 = 0; 8 <- 4; 10 = 8; 6 = 2; " : "10 = 8; 4,6 = 0,2; ");
  }
}

// In a captured function, too, and with sums that need others.
TEST(Buckets, JoinedSumsAreThoseOfEach) {
  const i64 ranks = dist::world_size();
  std::vector<Tensor> parts;
  for (i64 i = 0; i < 5; ++i)
    parts.push_back(
        Tensor::full({i + 1}, static_cast<f64>(dist::rank() + i)).contiguous().realize());
  auto summed = jit([&](const Tensor& x) {
    std::vector<Tensor> sums;
    for (const Tensor& part : parts) sums.push_back(dist::all_reduce(part + x));
    sums.push_back(dist::all_reduce(sums[1] * 2));
    return sums;
  });
  for (i64 step = 0; step < 4; ++step) {
    const Tensor x = Tensor::full({1}, static_cast<f64>(step)).contiguous().realize();
    const std::vector<Tensor> sums = summed(x);
    for (i64 i = 0; i < 5; ++i) {
      const f64 expected = static_cast<f64>(ranks * (ranks - 1) / 2 + ranks * (i + step));
      EXPECT_EQ(values_of(sums[static_cast<usize>(i)]),
                std::vector<f64>(static_cast<usize>(i + 1), expected));
    }
    const f64 one = static_cast<f64>(ranks * (ranks - 1) / 2 + ranks * (1 + step));
    EXPECT_EQ(values_of(sums[5]), std::vector<f64>(2, 2 * one * static_cast<f64>(ranks)));
  }
}

}  // namespace
}  // namespace doorbell::test
