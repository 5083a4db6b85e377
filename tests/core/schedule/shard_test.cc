// Graphs of values on several devices as graphs of values on one: their text, that no kernel reads
// another device's memory, and how much is copied.
#include "core/schedule/shard.h"

#include <gtest/gtest.h>

#include "base/util/format.h"
#include "core/schedule/allreduce.h"
#include "core/schedule/schedule.h"
#include "core/uop/print.h"
#include "core/util/config.h"
#include "tests/core/schedule/tensor_reference.h"

namespace doorbell::core {
namespace {
using namespace test;  // NOLINT

// A stored value over so many devices, from 0 on. Ids that the texts below show.
UOpRef stored(const Sizes& shape, i64 layout, i64 devices, i64 id = 900) {
  const Sizes own = window_of_part(shape, mesh_axes_of(layout, devices), 0).size;
  std::vector<UOpRef> owners;
  std::vector<UOp> parts;
  for (i64 device = 0; device < devices; ++device) {
    std::vector<i64> args{id + device, 0, device};
    args.insert(args.end(), own.begin(), own.end());
    owners.push_back(TensorGraph::make(Op::Buffer, dtypes::f32, {}, args));
    parts.push_back(*owners.back());
  }
  return TensorGraph::make(Op::Multi, dtypes::f32, parts, {&layout, 1});
}
UOpRef shard(const UOpRef& x, i64 layout, i64 devices) {
  std::vector<i64> args{layout};
  for (i64 device = 0; device < devices; ++device) args.push_back(device);
  const UOp src = *x;
  return TensorGraph::make(Op::Shard, x->dtype(), {&src, 1}, args);
}

struct Sharded {
  GraphKey key;
  ShardedGraph graph;
  Schedule schedule;
  usize kernels = 0, copies = 0;
  std::string work() const { return fmt::format("{} kernels, {} copies", kernels, copies); }
};

// Shards and schedules; every kernel keeps to its device.
Sharded sharded(std::initializer_list<UOpRef> owned) {
  std::vector<UOp> roots;
  for (const UOpRef& root : owned) roots.push_back(*root);
  Sharded result;
  result.key.walk(roots, true);
  EXPECT_TRUE(needs_sharding(result.key, 0));
  result.graph = shard_graph(result.key, roots);
  result.schedule = make_schedule(result.graph.key, result.graph.roots);
  for (const ScheduleItem& item : result.schedule.items) {
    const bool copies = item.kind == ScheduleItem::Kind::Copy;
    (copies ? result.copies : result.kernels) += 1;
    for (usize i = 0; i < item.buffers.size(); ++i) {
      const u16 device = result.schedule.buffers[item.buffers[i]].device;
      if (!copies || i == 0)
        EXPECT_EQ(device, item.device);
      else
        EXPECT_NE(device, item.device) << "a copy to where the value is";
    }
  }
  return result;
}

TEST(Shard, OneNodePerDevice) {
  const UOpRef x = stored({4, 6}, 0, 2);
  const Sharded result = sharded({mul(x, constant(2))});
  ASSERT_EQ(result.graph.roots.size(), 2u);
  EXPECT_EQ(result.graph.by_root[0].count, 2u);
  EXPECT_EQ(result.graph.by_root[0].layout, 0);
  EXPECT_EQ(print_tensor_graph(result.graph.roots[1]),
            "%0 = Buffer:f32 {901, 0, 1, 2, 6}\n"
            "%1 = Const:f32 2\n"
            "%2 = Copy:f32(%1) {1}\n"
            "%3 = Mul:f32(%0, %2)\n");
  EXPECT_EQ(result.work(), "2 kernels, 0 copies");
}

TEST(Shard, ASumAcrossDevices) {
  const Sharded result = sharded({sum(stored({4, 6}, 0, 2), 1)});
  EXPECT_EQ(print_tensor_graph(result.graph.roots[0]),
            "%0 = Buffer:f32 {900, 0, 0, 2, 6}\n"
            "%1 = Reduce:f32(%0) {Add, 1}\n"
            "%2 = Buffer:f32 {901, 0, 1, 2, 6}\n"
            "%3 = Reduce:f32(%2) {Add, 1}\n"
            "%4 = Copy:f32(%3) {0}\n"
            "%5 = Add:f32(%1, %4)\n");
  // On each device its part, and the sum of the two.
  EXPECT_EQ(result.work(), "4 kernels, 2 copies");
}

TEST(Shard, OnlyTheWindowTravels) {
  // Rows 1 to 2 of 4, one on each device again: row 1 stays, row 2 too.
  const UOpRef x = stored({4, 6}, 0, 2);
  EXPECT_EQ(sharded({unary(Op::Neg, shrink(x, {{1, 3}, {0, 6}}))}).work(), "2 kernels, 0 copies");
  // Row 3 goes to device 0.
  const Sharded row = sharded({shrink(x, {{3, 4}, {0, 6}})});
  EXPECT_EQ(print_tensor_graph(row.graph.roots[0]),
            "%0 = Buffer:f32 {901, 0, 1, 2, 6}\n"
            "%1 = Shrink:f32(%0) {1, 1, 0, 6}\n"
            "%2 = Copy:f32(%1) {0}\n");
}

TEST(Shard, JoinsBitForBit) {
  const Sharded result = sharded({shard(stored({4}, 0, 2), kReplicated, 2)});
  EXPECT_EQ(print_tensor_graph(result.graph.roots[0]),
            "%0 = Buffer:f32 {900, 0, 0, 2}\n"
            "%1 = Bitcast:u32(%0)\n"
            "%2 = Pad:u32(%1) {0, 4}\n"
            "%3 = Buffer:f32 {901, 0, 1, 2}\n"
            "%4 = Copy:f32(%3) {0}\n"
            "%5 = Bitcast:u32(%4)\n"
            "%6 = Pad:u32(%5) {2, 4}\n"
            "%7 = Or:u32(%2, %6)\n"
            "%8 = Bitcast:f32(%7)\n");
}

TEST(Shard, WorkOfMatrixProducts) {
  const UOpRef rows = stored({8, 6}, 0, 4), copies = stored({6, 4}, kReplicated, 4, 910);
  EXPECT_EQ(sharded({matmul(rows, copies)}).work(), "4 kernels, 0 copies");
  // Both along the summed axis: partial products, each to the three others, and four sums.
  const UOpRef columns = stored({6, 8}, 1, 4, 920), depth = stored({8, 4}, 0, 4, 930);
  EXPECT_EQ(sharded({matmul(columns, depth)}).work(), "8 kernels, 12 copies");
  // The smaller of two that are split along axes of their own is gathered: three copies to each
  // device, where it is read as it came.
  const UOpRef wide = stored({6, 4}, 1, 4, 940);
  EXPECT_EQ(sharded({matmul(rows, wide)}).copies, 12u);
}

i64 over_mesh(i64 first, i64 second) { return layout_of(MeshAxes{{2, first}, {2, second}}); }

TEST(Shard, WorkOverMeshes) {
  const UOpRef x = stored({8, 6}, over_mesh(0, kReplicated), 4);
  const UOpRef w = stored({6, 4}, over_mesh(kReplicated, 1), 4, 910);
  const UOpRef y = matmul(x, w);
  EXPECT_EQ(sharded({y}).work(), "4 kernels, 0 copies");
  // The weight's gradient: a sum in each column of the mesh, where each has a copy of the other's.
  EXPECT_EQ(sharded({matmul(permute(x, {1, 0}), y)}).copies, 4u);
  // Over both mesh axes at once: each of four to three others.
  EXPECT_EQ(sharded({sum(y, 3)}).copies, 12u);
}

// Device 3 has the last rows of the last columns.
TEST(Shard, PartsOfWholesOverMeshes) {
  const Sharded result = sharded({shard(buffer({4, 6}, dtypes::f32, 3), over_mesh(0, 1), 4)});
  const UOp last = result.graph.roots[3];
  EXPECT_EQ(std::vector<i64>(last.args().begin(), last.args().end()),
            (std::vector<i64>{0, 2, 3, 3}));
  EXPECT_EQ(std::vector<i64>(last.src(0).args().begin(), last.src(0).args().end()),
            (std::vector<i64>{2, 2, 0, 6}));
}

TEST(Shard, WorkOfAllreduce) {
  // 4 partial sums. Each to 3 devices; or 4 chunks that go 3 steps around, twice; or 3 pieces to
  // the owner of each of 4 chunks, and 3 results back.
  const UOpRef total = sum(stored({4, 1000}, 0, 4), 1);
  const usize copies[] = {12, 24, 24};
  for (int way = 1; way <= 3; ++way) {
    Context context({.allreduce = way});
    EXPECT_EQ(sharded({total}).copies, copies[way - 1]) << way;
  }
}

TEST(Shard, AllreduceIsChosenBySize) {
  EXPECT_EQ(choose_allreduce(100, 4), Allreduce::Naive);
  EXPECT_EQ(choose_allreduce(10'000'000, 2), Allreduce::Naive);
  EXPECT_EQ(choose_allreduce(1'000'000, 4), Allreduce::AllToAll);
  EXPECT_EQ(choose_allreduce(10'000'000, 4), Allreduce::Ring);
  EXPECT_EQ(choose_allreduce(-1, 4), Allreduce::Naive);
  Context context({.allreduce = 2});
  EXPECT_EQ(choose_allreduce(100, 4), Allreduce::Ring);
}

TEST(Shard, ConstantsAreWhereTheyAreUsed) {
  // Stored tables of no device, used on two: each device has its own.
  const UOpRef table = contiguous(cast(arange(6), dtypes::f32));
  const UOpRef here = buffer({6}), there = buffer({6}, dtypes::f32, 1);
  const Sharded result = sharded({add(table, here), add(table, there)});
  EXPECT_EQ(result.copies, 0u);
  // A constant on its own is stored where it is asked for.
  const Sharded alone = sharded({assign(buffer({3}, dtypes::f32, 1), expand(constant(2), {3}))});
  EXPECT_EQ(alone.schedule.buffers[alone.schedule.results[0]].device, 1);
}

TEST(Shard, RealisedValuesAreReadWhereTheyAre) {
  const UOpRef x = stored({4, 6}, 0, 2), y = unary(Op::Neg, x), z = add(y, y);
  const UOpRef held = stored({4, 6}, 0, 2, 950);
  TensorGraph::set_realized(*y, *held);
  const Sharded result = sharded({z});
  EXPECT_EQ(result.key.inputs.size(), 2u);
  EXPECT_EQ(result.key.inputs[0], held->src(0));
  EXPECT_EQ(result.work(), "2 kernels, 0 copies");
  // The same graph over the stored value itself is found by the same key.
  GraphKey other;
  const UOpRef direct = add(held, held);
  const UOp root = *direct;
  other.walk({&root, 1});
  EXPECT_EQ(other.words, result.key.words);
}

}  // namespace
}  // namespace doorbell::core
