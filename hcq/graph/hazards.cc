// One sorted list of ranges for each storage; most have one.
#include "hcq/graph/hazards.h"

#include <algorithm>

#include "base/util/check.h"

namespace doorbell::hcq {

std::span<Hazards::Range> Hazards::cut(u32 storage, u64 begin, u64 end) {
  if (storage >= storages_.size()) storages_.resize(storage + 1);
  std::vector<Range>& ranges = storages_[storage];
  auto at = [&](usize i) { return ranges.begin() + static_cast<std::ptrdiff_t>(i); };
  usize first = 0;
  while (first < ranges.size() && ranges[first].end <= begin) ++first;
  if (first < ranges.size() && ranges[first].begin < begin) {
    Range left = ranges[first];
    left.end = ranges[first].begin = begin;
    ranges.insert(at(first), std::move(left));
    ++first;
  }
  usize i = first;
  for (u64 reached = begin; reached < end; ++i) {
    if (i == ranges.size() || ranges[i].begin > reached) {
      const u64 gap_end = i == ranges.size() ? end : std::min(end, ranges[i].begin);
      ranges.insert(at(i), Range{reached, gap_end});
    } else if (ranges[i].end > end) {
      Range left = ranges[i];
      left.end = ranges[i].begin = end;
      ranges.insert(at(i), std::move(left));
    }
    reached = ranges[i].end;
  }
  return {ranges.data() + first, i - first};
}

void Hazards::use(const Use& use, u32 node, u32 queue, std::vector<u32>* after) {
  CHECK(queue < queues_, "queue {} of {}", queue, queues_);
  for (Range& range : cut(use.storage, use.offset, use.offset + use.bytes)) {
    if (range.writer != kNone && range.writer != node) after->push_back(range.writer);
    if (use.access == Access::Read) {
      if (range.readers.empty()) range.readers.resize(queues_, kNone);
      range.readers[queue] = node;
      continue;
    }
    for (u32 reader : range.readers)
      if (reader != kNone && reader != node) after->push_back(reader);
    range.readers.clear();
    range.writer = node;
  }
}

}  // namespace doorbell::hcq
