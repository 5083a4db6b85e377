// Level 0 holds sizes below kSubs, one list each; level n sizes from kSubs << (n - 1), in kSubs
// equal steps.
#include "hcq/memory/tlsf.h"

#include <bit>

#include "base/util/check.h"

namespace doorbell::hcq {

Tlsf::Tlsf(u64 start, u64 size, u64 granule) : start_(start), granule_(granule) {
  CHECK(std::has_single_bit(granule), "granule {}", granule);
  CHECK(start % granule == 0 && size % granule == 0 && size > 0, "range {:#x}+{:#x}, granule {:#x}",
        start, size, granule);
  for (auto& level : lists_) level.fill(kNone);
  total_ = size / granule;
  insert(make_block(0, total_));
}

Tlsf::Class Tlsf::class_of(u64 size) {
  if (size < kSubs) return {0, static_cast<u32>(size)};
  const u32 level = static_cast<u32>(std::bit_width(size)) - kSubBits;
  return {level, static_cast<u32>(size >> (level - 1)) - kSubs};
}

// A block of the smallest class all of whose blocks are large enough; failing that, the first of
// the class below if it is. So a heap that is one free block gives out all of it.
u32 Tlsf::find(u64 size) const {
  const u32 found = find_rounded(size);
  if (found != kNone) return found;
  const Class at = class_of(size);
  const u32 head = lists_[at.level][at.sub];
  return head != kNone && blocks_[head].size >= size ? head : kNone;
}

u32 Tlsf::find_rounded(u64 size) const {
  if (size >= kSubs) {
    // Rounded up to the next class, unless it begins one.
    const u64 step = u64{1} << (std::bit_width(size) - 1 - static_cast<int>(kSubBits));
    if (size > ~u64{0} - step) return kNone;
    size += step - 1;
  }
  const Class from = class_of(size);
  const u32 subs = subs_[from.level] & (~u32{0} << from.sub);
  if (subs != 0) return lists_[from.level][static_cast<u32>(std::countr_zero(subs))];
  if (from.level + 1 >= kClasses) return kNone;
  const u64 levels = levels_ & (~u64{0} << (from.level + 1));
  if (levels == 0) return kNone;
  const u32 level = static_cast<u32>(std::countr_zero(levels));
  return lists_[level][static_cast<u32>(std::countr_zero(subs_[level]))];
}

u32 Tlsf::make_block(u64 start, u64 size) {
  u32 index = static_cast<u32>(blocks_.size());
  if (spare_.empty()) {
    blocks_.emplace_back();
  } else {
    index = spare_.back();
    spare_.pop_back();
  }
  blocks_[index] = Block{start, size};
  return index;
}

void Tlsf::insert(u32 index) {
  Block& block = blocks_[index];
  const Class at = class_of(block.size);
  u32& head = lists_[at.level][at.sub];
  block.free = true;
  block.previous = kNone;
  block.next = head;
  if (head != kNone) blocks_[head].previous = index;
  head = index;
  subs_[at.level] |= u32{1} << at.sub;
  levels_ |= u64{1} << at.level;
}

void Tlsf::remove(u32 index) {
  Block& block = blocks_[index];
  const Class at = class_of(block.size);
  if (block.previous != kNone)
    blocks_[block.previous].next = block.next;
  else
    lists_[at.level][at.sub] = block.next;
  if (block.next != kNone) blocks_[block.next].previous = block.previous;
  if (lists_[at.level][at.sub] == kNone) subs_[at.level] &= ~(u32{1} << at.sub);
  if (subs_[at.level] == 0) levels_ &= ~(u64{1} << at.level);
  block.free = false;
}

u32 Tlsf::split(u32 index, u64 size) {
  const u32 rest = make_block(blocks_[index].start + size, blocks_[index].size - size);
  Block& block = blocks_[index];
  blocks_[rest].before = index;
  blocks_[rest].after = block.after;
  if (block.after != kNone) blocks_[block.after].before = rest;
  block.after = rest;
  block.size = size;
  return rest;
}

void Tlsf::join(u32 index) {
  Block& block = blocks_[index];
  const u32 gone = block.after;
  block.size += blocks_[gone].size;
  block.after = blocks_[gone].after;
  if (block.after != kNone) blocks_[block.after].before = index;
  spare_.push_back(gone);
}

std::optional<u64> Tlsf::allocate(u64 bytes, u64 alignment) {
  CHECK(std::has_single_bit(alignment), "alignment {}", alignment);
  const u64 size = bytes / granule_ + (bytes % granule_ != 0 || bytes == 0);
  // Addresses are aligned, not offsets; the first aligned place may lie this far in.
  const u64 slack = alignment > granule_ ? alignment / granule_ - 1 : 0;
  if (size > total_ || slack > total_ - size) return std::nullopt;
  u32 index = find(size + slack);
  if (index == kNone) return std::nullopt;
  remove(index);
  const u64 address = start_ + blocks_[index].start * granule_;
  const u64 skip = slack == 0 ? 0 : (-address & (alignment - 1)) / granule_;
  if (skip > 0) {
    const u32 aligned = split(index, skip);
    insert(index);
    index = aligned;
  }
  if (blocks_[index].size > size) insert(split(index, size));
  used_[blocks_[index].start] = index;
  in_use_ += size * granule_;
  return start_ + blocks_[index].start * granule_;
}

void Tlsf::release(u64 address) {
  const auto found = used_.find((address - start_) / granule_);
  CHECK(found != used_.end() && address % granule_ == 0, "{:#x} is not allocated", address);
  u32 index = found->second;
  used_.erase(found);
  in_use_ -= blocks_[index].size * granule_;
  const u32 after = blocks_[index].after, before = blocks_[index].before;
  if (after != kNone && blocks_[after].free) {
    remove(after);
    join(index);
  }
  if (before != kNone && blocks_[before].free) {
    remove(before);
    join(before);
    index = before;
  }
  insert(index);
}

void Tlsf::check() const {
  u32 first = kNone;
  std::vector<bool> unused(blocks_.size());
  for (u32 index : spare_) unused[index] = true;
  for (u32 i = 0; i < blocks_.size(); ++i)
    if (!unused[i] && blocks_[i].start == 0) first = i;
  CHECK_NE(first, kNone);
  u64 at = 0, used = 0;
  usize count = 0;
  for (u32 i = first, before = kNone; i != kNone; before = i, i = blocks_[i].after, ++count) {
    const Block& block = blocks_[i];
    CHECK(block.start == at && block.size > 0 && block.before == before && !unused[i]);
    CHECK(before == kNone || !(block.free && blocks_[before].free), "neighbours both free");
    at += block.size;
    if (block.free) continue;
    used += block.size;
    CHECK(used_.contains(block.start) && used_.at(block.start) == i);
  }
  CHECK_EQ(at, total_);
  CHECK_EQ(used * granule_, in_use_);
  CHECK_EQ(count + spare_.size(), blocks_.size());
  usize free_count = 0;
  for (u32 level = 0; level < kClasses; ++level)
    for (u32 sub = 0; sub < kSubs; ++sub) {
      CHECK_EQ((subs_[level] >> sub & 1) != 0, lists_[level][sub] != kNone);
      for (u32 i = lists_[level][sub]; i != kNone; i = blocks_[i].next, ++free_count) {
        const Class expected = class_of(blocks_[i].size);
        CHECK(blocks_[i].free && expected.level == level && expected.sub == sub);
      }
    }
  CHECK_EQ(free_count + used_.size(), count);
}

}  // namespace doorbell::hcq
