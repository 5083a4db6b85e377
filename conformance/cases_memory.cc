// Memory: running out is reported and survived, many buffers stay distinct, views begin at any
// byte, caches are freed, and old values live as long as a tensor has them.
#include <fmt/format.h>

#include <array>
#include <numeric>

#include "conformance/inputs.h"
#include "core/device/buffer.h"

namespace doorbell::conformance {
namespace {

using core::Buffer;
using core::Ref;

Array numbered(i64 number, i64 count) {
  i64 next = 0;
  return Array::make(dtypes::i32, {count},
                     [&](const Place&) { return Real(number * 1000 + next++); });
}

void out_of_memory(Trial& trial) {
  const Tensor before = trial.tensor(numbered(1, 100)).realize();
  constexpr i64 kTooMany = i64{1} << 50;
  bool refused = false;
  try {
    Tensor::zeros({kTooMany}, trial.on(dtypes::u8)).contiguous().realize();
  } catch (const Error& error) {
    refused = error.kind == ErrorKind::OutOfMemory;
    trial.require(refused, "the error is \"" + to_string(error) + "\", expected out of memory");
  }
  trial.require(refused, fmt::format("{} bytes were allocated", kTooMany));
  trial.check("tensor from before", before, numbered(1, 100));
  trial.check("tensor from afterwards", before + 1000, numbered(2, 100));
}

void many_allocations(Trial& trial) {
  constexpr i64 kCount = 1500;
  std::vector<Tensor> held;
  for (i64 i = 0; i < kCount; ++i) held.push_back(trial.tensor(numbered(i, 1 + i % 61)));
  for (i64 i = 0; i < kCount; i += 2) held[static_cast<usize>(i)] = Tensor();
  for (i64 i = 0; i < kCount; i += 4)
    held[static_cast<usize>(i)] = trial.tensor(numbered(-i, 1 + i % 37));
  for (i64 i = 0; i < kCount; ++i) {
    if (!held[static_cast<usize>(i)].defined()) continue;
    const bool again = i % 4 == 0;
    trial.check(fmt::format("allocation {}", i), held[static_cast<usize>(i)],
                numbered(again ? -i : i, 1 + (again ? i % 37 : i % 61)));
  }
}

void flush(Trial& trial) {
  const Tensor kept = trial.tensor(numbered(3, 5000));
  for (i64 i = 0; i < 20; ++i) trial.tensor(numbered(i, 3000 + i)).realize();
  core::Allocator& allocator = trial.device().allocator();
  allocator.flush();
  const core::MemoryStats stats = allocator.stats();
  trial.require(stats.cached == 0, fmt::format("{} bytes are cached after a flush", stats.cached));
  trial.require(stats.in_use >= 5000 * 4,
                fmt::format("{} bytes in use, expected 20000 at least", stats.in_use));
  trial.check("the kept tensor", kept, numbered(3, 5000));
}

// Copies at odd offsets: to the device, from it, and between two buffers.
void odd_bytes(Trial& trial) {
  core::Device& device = trial.device();
  Result<Ref<Buffer>> first = Buffer::allocate(device, 1021),
                      second = Buffer::allocate(device, 1021);
  trial.require(first && second, "1021 bytes cannot be allocated");
  if (!first || !second) return;
  std::vector<u8> wanted(1021), got(1021);
  for (usize i = 0; i < wanted.size(); ++i) wanted[i] = static_cast<u8>(i * 37 + i / 256);
  bool fine = true;
  for (i64 at = 0, size = 1; at < 1021; at += size, size = std::min<i64>(size * 2 + 1, 1021 - at))
    fine = fine && (*first)->copy_in(wanted.data() + at, size, at);
  const core::Allocation &from = (*first)->memory(), &to = (*second)->memory();
  fine = fine && device.allocator().copy(to, 0, from, 0, 1021);
  fine = fine && device.allocator().copy(to, 7, from, 301, 13);  // 13 bytes of the middle, early
  std::copy_n(wanted.begin() + 301, 13, wanted.begin() + 7);
  for (i64 at = 0, size = 3; at < 1021; at += size, size = std::min<i64>(size + 8, 1021 - at))
    fine = fine && (*second)->copy_out(got.data() + at, size, at);
  trial.require(fine, "a copy failed");
  for (usize i = 0; i < got.size() && fine; ++i) {
    if (got[i] == wanted[i]) continue;
    trial.require(false, fmt::format("byte {}: got {}, expected {}", i, got[i], wanted[i]));
    return;
  }
}

// Parts of a stored tensor that begin at every offset of a vector.
void offset_views(Trial& trial, DType dtype) {
  Random random(seed_of(trial.seed(), dtype.str()));
  const Array values = random_array(random, dtype, {257}, Domain::Small);
  const Tensor x = trial.tensor(values).realize();
  for (i64 start : {0, 1, 2, 3, 5, 8, 13, 16}) {
    const Tensor view = x[{Slice(start, start + 200)}];
    trial.expect(fmt::format("from {}", start), view.contiguous(), slice(values, 0, start, 1, 200));
  }
  // Written behind another part, at an odd offset.
  Array joined = slice(values, 0, 0, 1, 3);
  const Array rest = slice(values, 0, 5, 1, 200);
  joined.values.insert(joined.values.end(), rest.values.begin(), rest.values.end());
  joined.shape = {203};
  trial.expect("joined", Tensor::cat({x[{Slice(0, 3)}], x[{Slice(5, 205)}]}), joined);
}

void old_values_stay(Trial& trial) {
  Tensor x = trial.tensor(numbered(0, 50));
  const Tensor doubled = x * 2, same = x.clone();
  x.assign(trial.tensor(numbered(5, 50)));
  x[{Slice(10, 20)}] = 7;
  trial.check("computed before", doubled,
              map(dtypes::i32, numbered(0, 50), [](Real v) { return v * 2; }));
  trial.check("copied before", same, numbered(0, 50));
  Array want = numbered(5, 50);
  std::fill(want.values.begin() + 10, want.values.begin() + 20, 7);
  trial.check("assigned", x, want);
  for (int i = 0; i < 30; ++i) x += 1;
  for (Real& value : want.values) value += 30;
  trial.check("added to", x, want);
}

void large_copy(Trial& trial) {
  constexpr i64 kCount = (8 << 20) + 5;
  std::vector<u32> values(kCount);
  for (usize i = 0; i < values.size(); ++i) values[i] = static_cast<u32>(i * 2654435761u);
  const Tensor x = Tensor::from_data(values, {kCount}, trial.on(dtypes::u32));
  trial.require(x.to_bytes().size() == kCount * 4u && x.to_vector<u32>() == values,
                "the bytes read differ from the bytes written");
  for (u32& value : values) value ^= 1;
  trial.require((x ^ 1u).to_vector<u32>() == values,
                "the computed values differ from the expected ones");
}

// Memory of the host used in place: kernels read what it holds when they run, and results do not
// change it. A device that cannot access it must fail with an error that names the device.
void foreign_memory(Trial& trial) {
  alignas(64) std::array<i32, 33> memory{};
  const auto wrapped = [&] {
    return Tensor::from_blob(memory.data() + 1, dtypes::i32, {4, 8}, trial.on(dtypes::i32));
  };
  try {
    wrapped();
  } catch (const Error& error) {
    trial.require(error.kind == ErrorKind::Unsupported &&
                      error.message.find(trial.device().name()) != std::string::npos,
                  "the error is \"" + to_string(error) + "\", expected one that names the device");
    return;
  }
  const Tensor x = wrapped();
  std::iota(memory.begin(), memory.end(), -1);
  i64 next = 0;
  trial.check("as written later", x + 0,
              Array::make(dtypes::i32, {4, 8}, [&](const Place&) { return Real(next++); }));
  next = 0;
  const Array shifted = Array::make(dtypes::i32, {8, 4},
                                    [&](const Place& at) { return Real(at[1] * 8 + at[0] + 5); });
  const Tensor moved = (x.t() + 5).realize();
  memory.fill(9);
  trial.check("computed before", moved, shifted);
  trial.check("written again", x.sum(), Array{dtypes::i32, {}, {9 * 32}});
}

}  // namespace

void add_memory_cases(Suite& suite) {
  const Needs values{.runs = true};
  suite.add_alone("memory/end/reported", values, out_of_memory);
  suite.add_alone("memory/many/apart", values, many_allocations);
  suite.add_alone("memory/cache/flushed", values, flush);
  suite.add_alone("memory/bytes/odd", values, odd_bytes);
  suite.add_alone("memory/bytes/large", {.dtypes = {dtypes::u32}, .runs = true}, large_copy);
  suite.add_alone("memory/foreign/in_place", values, foreign_memory);
  suite.add_alone("memory/versions/kept", values, old_values_stay);
  for (DType dtype : all_dtypes()) {
    suite.add("memory/offsets/" + dtype.str(), {.dtypes = {dtype}}).add("views", [dtype](Trial& t) {
      offset_views(t, dtype);
    });
  }
}

}  // namespace doorbell::conformance
