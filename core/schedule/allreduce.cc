// The three algorithms. Device c is responsible for chunk c. Each algorithm combines a chunk in the
// same order on all devices, so that copies stay equal bit for bit.
#include "core/schedule/allreduce.h"

#include <algorithm>

#include "base/util/check.h"
#include "core/util/config.h"

namespace doorbell::core {

namespace {

// Below the first number of elements a chunked algorithm's steps cost more than the bytes that they
// save; below the second the ring's many steps do.
constexpr i64 kMinChunked = i64{256} << 10, kMinRing = i64{4} << 20;
// Chunks begin at multiples of this, where kernels can use vectors.
constexpr i64 kChunkAlignment = 32;

i64 count_of(UOp x) {
  i64 count = 1;
  for (usize i = 0; i < x.ndim(); ++i) {
    if (!x.dim(i).is_const()) return -1;
    count *= x.dim(i).value();
  }
  return count;
}

class Ways {
 public:
  Ways(ShardBuilder& builder, Op op, const Parts& partial, const Line& line)
      : builder_(builder), op_(op), devices_(line.devices), partial_(partial) {}

  Parts naive() const;
  Parts ring();
  Parts all_to_all();

 private:
  usize count() const { return devices_.size(); }
  void cut();
  UOp chunk(usize device, usize c) const {
    return builder_.window(flat_[device], 0, starts_[c], starts_[c + 1] - starts_[c]);
  }
  bool is_empty(usize c) const { return starts_[c] == starts_[c + 1]; }
  // The elements of the chunks that device i has in the end.
  Parts assemble(const std::vector<std::vector<UOp>>& chunks) const;

  ShardBuilder& builder_;
  const Op op_;
  const std::span<const u16> devices_;
  const Parts& partial_;
  Parts flat_;
  std::vector<i64> starts_;  // of chunks; one more than there are
};

Parts Ways::naive() const {
  Parts results;
  for (u16 device : devices_) {
    UOp total;
    for (UOp part : partial_) {
      const UOp here = builder_.copy(part, device);
      total = total ? builder_.binary(op_, total, here) : here;
    }
    results.push_back(total);
  }
  return results;
}

void Ways::cut() {
  const i64 elements = count_of(partial_[0]), parts = static_cast<i64>(count());
  const i64 even = (elements + parts - 1) / parts;
  const i64 size = (even + kChunkAlignment - 1) / kChunkAlignment * kChunkAlignment;
  for (i64 c = 0; c <= parts; ++c) starts_.push_back(std::min(c * size, elements));
  for (UOp part : partial_) flat_.push_back(builder_.reshape(part, {&elements, 1}));
}

Parts Ways::assemble(const std::vector<std::vector<UOp>>& chunks) const {
  std::vector<i64> sizes;
  for (usize i = 0; i < partial_[0].ndim(); ++i) sizes.push_back(partial_[0].dim(i).value());
  Parts results;
  for (usize i = 0; i < count(); ++i)
    results.push_back(builder_.reshape(builder_.join(chunks[i], 0), sizes));
  return results;
}

Parts Ways::ring() {
  cut();
  const usize n = count();
  std::vector<std::vector<UOp>> chunks(n);
  for (usize c = 0; c < n; ++c) {
    if (is_empty(c)) continue;
    // From the next device around to c, then around once more with the result.
    UOp total = chunk((c + 1) % n, c);
    for (usize step = 2; step <= n; ++step) {
      const usize at = (c + step) % n;
      total = builder_.binary(op_, builder_.copy(total, devices_[at]), chunk(at, c));
    }
    for (usize step = 0; step < n; ++step) {
      const usize at = (c + step) % n;
      total = builder_.copy(total, devices_[at]);
      chunks[at].push_back(total);
    }
  }
  return assemble(chunks);
}

Parts Ways::all_to_all() {
  cut();
  const usize n = count();
  std::vector<std::vector<UOp>> chunks(n);
  for (usize c = 0; c < n; ++c) {
    if (is_empty(c)) continue;
    UOp total;
    for (usize i = 0; i < n; ++i) {
      const UOp here = builder_.copy(chunk(i, c), devices_[c]);
      total = total ? builder_.binary(op_, total, here) : here;
    }
    for (usize i = 0; i < n; ++i) chunks[i].push_back(builder_.copy(total, devices_[i]));
  }
  return assemble(chunks);
}

}  // namespace

Allreduce choose_allreduce(i64 elements, i64 devices) {
  if (elements < 0) return Allreduce::Naive;  // symbolic
  if (config().allreduce != 0) return static_cast<Allreduce>(config().allreduce);
  if (devices <= 2 || elements < kMinChunked) return Allreduce::Naive;
  return elements < kMinRing ? Allreduce::AllToAll : Allreduce::Ring;
}

Parts allreduce(ShardBuilder& builder, Op op, const Parts& partial, const Line& line) {
  Ways ways(builder, op, partial, line);
  const i64 elements = count_of(partial[0]);
  if (elements == 0) return ways.naive();
  switch (choose_allreduce(elements, line.count())) {
    case Allreduce::Ring: return ways.ring();
    case Allreduce::AllToAll: return ways.all_to_all();
    default: return ways.naive();
  }
}

}  // namespace doorbell::core
