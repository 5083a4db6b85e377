// The command processors' way to memory (guest_memory.h).
#include "emulator/amd/cp/guest_memory.h"

#include <algorithm>
#include <cstring>

#include "base/util/format.h"
#include "emulator/amd/cp/caches.h"
#include "emulator/core/races/agent_races.h"

namespace doorbell::emu::amdgpu {

namespace {

// Clients give addresses of words as they like; the registers and packets that take them to the
// hardware have no bits 1:0. [asic_reg CP_HQD_PQ_RPTR_REPORT_ADDR 31:2; nvd.h WAIT_REG_MEM,
// sdma_v6_0_0_pkt_open.h FENCE_ADDR_LO]
constexpr u64 kWordAddress = ~u64{3};

}  // namespace

std::optional<MemoryFault> GuestMemory::translate(u64 va, u64 bytes, bool write,
                                                  const Range*& range) const {
  range = space_.find(va);
  MemoryFault fault{.va = va};
  if (!range || !range->host)
    fault.not_present = true;
  else if (write && !range->writable)
    fault.read_only = true;
  else
    return std::nullopt;
  fault.what = fmt::format("{} of {} bytes at {:#x}", write ? "write" : "read", bytes, va);
  return fault;
}

void GuestMemory::judge(const Range& range, u64 va, u64 bytes, AgentAccess access) const {
  if (task_ == nullptr) return;
  const u8* host = range.host + (va - range.start);
  const auto conflict = task_->access(host, bytes, access);
  if (!conflict) return;
  const u64 where = va + static_cast<u64>(conflict->at - host);
  races_.push_back(fmt::format("{} {} memory at {:#x}, {}, {}", task_->who(),
                               access == AgentAccess::Read ? "reads" : "writes", where,
                               space_.describe(where), task_->describe(*conflict)));
}

// Before the word is there: who sees it is behind this.
void GuestMemory::release(const Range& range, u64 va, std::span<const u8> word) {
  if (task_ == nullptr) return;
  judge(range, va, word.size(), AgentAccess::AtomicWrite);
  task_->release(range.host + (va - range.start), word);
}

void GuestMemory::release_to_host() {
  if (task_ != nullptr) task_->release_to_host();
}

std::optional<MemoryFault> GuestMemory::read(Client client, u64 va, std::span<u8> to) const {
  while (!to.empty()) {
    const Range* range = nullptr;
    if (auto fault = translate(va, to.size(), false, range)) return fault;
    u64 bytes = std::min<u64>(to.size(), range->end - va);
    judge(*range, va, bytes, AgentAccess::Read);
    if (observer_) observer_->read(range->host + (va - range->start), bytes, false);
    if (caches_) {
      caches_->posted().judge_packet(queue_, va, bytes);
      caches_->client_read(client, *range, va, to.first(bytes));
    } else {
      std::memcpy(to.data(), range->host + (va - range->start), bytes);
    }
    va += bytes;
    to = to.subspan(bytes);
  }
  return std::nullopt;
}

std::optional<MemoryFault> GuestMemory::write(Client client, u64 va, std::span<const u8> from) {
  while (!from.empty()) {
    const Range* range = nullptr;
    if (auto fault = translate(va, from.size(), true, range)) return fault;
    u64 bytes = std::min<u64>(from.size(), range->end - va);
    judge(*range, va, bytes, AgentAccess::Write);
    if (observer_) observer_->written(range->host + (va - range->start), bytes);
    if (caches_) {
      land_in(va, va + bytes);
      caches_->client_write(client, *range, va, from.first(bytes));
      caches_->announcements().written(range->host + (va - range->start), bytes);
    }
    std::memcpy(range->host + (va - range->start), from.data(), bytes);
    if (undefined_) undefined_->define(range->host + (va - range->start), bytes);
    va += bytes;
    from = from.subspan(bytes);
  }
  return std::nullopt;
}

std::optional<MemoryFault> GuestMemory::load_word(Client client, u64 va, unsigned bytes,
                                                  u64& value) const {
  va &= kWordAddress;
  if (va % bytes != 0) {
    u64 upper = 0;
    auto fault = load_word(client, va, 4, value);
    if (!fault) fault = load_word(client, va + 4, 4, upper);
    value |= upper << 32;
    return fault;
  }
  const Range* range = nullptr;
  if (auto fault = translate(va, bytes, false, range)) return fault;
  if (observer_) observer_->read(range->host + (va - range->start), bytes, true);
  if (caches_) {
    u8 word[8] = {};
    caches_->client_read(client, *range, va, std::span(word).first(bytes));
    std::memcpy(&value, word, sizeof value);
    return std::nullopt;
  }
  const u8* host = range->host + (va - range->start);
  value = bytes == 8 ? __atomic_load_n(reinterpret_cast<const u64*>(host), __ATOMIC_ACQUIRE)
                     : __atomic_load_n(reinterpret_cast<const u32*>(host), __ATOMIC_ACQUIRE);
  return std::nullopt;
}

std::optional<MemoryFault> GuestMemory::store_word(Client client, u64 va, unsigned bytes,
                                                   u64 value) {
  va &= kWordAddress;
  if (va % bytes != 0) {
    auto fault = store_word(client, va, 4, value & ~u32{0});
    return fault ? fault : store_word(client, va + 4, 4, value >> 32);
  }
  const Range* range = nullptr;
  if (auto fault = translate(va, bytes, true, range)) return fault;
  if (caches_) {
    land_in(va, va + bytes);
    u8 word[8];
    std::memcpy(word, &value, sizeof word);
    caches_->client_write(client, *range, va, std::span<const u8>(word).first(bytes));
    caches_->announcements().written(range->host + (va - range->start), bytes);
  }
  u8* host = range->host + (va - range->start);
  if (observer_) observer_->written(host, bytes);
  if (undefined_) undefined_->define(host, bytes);
  release(*range, va, std::span(reinterpret_cast<const u8*>(&value), bytes));
  if (bytes == 8)
    __atomic_store_n(reinterpret_cast<u64*>(host), value, __ATOMIC_RELEASE);
  else
    __atomic_store_n(reinterpret_cast<u32*>(host), static_cast<u32>(value), __ATOMIC_RELEASE);
  return std::nullopt;
}

std::optional<MemoryFault> GuestMemory::atomic(u64 va, unsigned bytes, Update update, u64 operand,
                                               u64 compare, u64& before) {
  va &= ~u64{bytes - 1};
  const Range* range = nullptr;
  if (auto fault = translate(va, bytes, true, range)) return fault;
  u8* host = range->host + (va - range->start);
  // What the L2 holds of the cell goes to memory first, so that the newest value is updated.
  if (caches_) {
    land_in(va, va + bytes);
    caches_->evict(*range, va, bytes);
    caches_->announcements().written(host, bytes);
  }
  const auto exchange = [&]<class T>(T* cell) {
    T old = __atomic_load_n(cell, __ATOMIC_ACQUIRE);
    while (!__atomic_compare_exchange_n(cell, &old, static_cast<T>(update(old, operand, compare)),
                                        false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    }
    before = old;
  };
  if (task_ != nullptr) {
    u64 old = 0;
    std::memcpy(&old, host, bytes);
    const u64 updated = update(old, operand, compare);
    release(*range, va, std::span(reinterpret_cast<const u8*>(&updated), bytes));
  }
  if (bytes == 8)
    exchange(reinterpret_cast<u64*>(host));
  else
    exchange(reinterpret_cast<u32*>(host));
  return std::nullopt;
}

std::optional<MemoryFault> GuestMemory::add(u64 va, u64 addend, u64& before) {
  return atomic(
      va, 8, [](u64 value, u64 operand, u64) { return value + operand; }, addend, 0, before);
}

std::optional<MemoryFault> GuestMemory::post(u64 va, std::span<const u8> from, u32 turns,
                                             std::string what) {
  while (!from.empty()) {
    const Range* range = nullptr;
    if (auto fault = translate(va, from.size(), true, range)) return fault;
    const u64 bytes = std::min<u64>(from.size(), range->end - va);
    if (bytes == sizeof(u32) && va % sizeof(u32) == 0)
      release(*range, va, from.first(bytes));
    else
      judge(*range, va, bytes, AgentAccess::Write);
    caches_->posted().add({.queue = queue_,
                           .range = range,
                           .va = va,
                           .bytes = {from.begin(), from.begin() + static_cast<i64>(bytes)},
                           .what = what,
                           .turns = turns});
    va += bytes;
    from = from.subspan(bytes);
  }
  return std::nullopt;
}

// Words land whole, for others may be polling.
void GuestMemory::put(const PostedWrites::Write& write) {
  u8* host = write.range->host + (write.va - write.range->start);
  caches_->client_write(Client::CommandProcessor, *write.range, write.va, write.bytes);
  caches_->announcements().written(host, write.bytes.size());
  if (undefined_) undefined_->define(host, write.bytes.size());
  if (write.bytes.size() == 4 && write.va % 4 == 0) {
    u32 word = 0;
    std::memcpy(&word, write.bytes.data(), sizeof word);
    __atomic_store_n(reinterpret_cast<u32*>(host), word, __ATOMIC_RELEASE);
  } else if (write.bytes.size() == 8 && write.va % 8 == 0) {
    u64 word = 0;
    std::memcpy(&word, write.bytes.data(), sizeof word);
    __atomic_store_n(reinterpret_cast<u64*>(host), word, __ATOMIC_RELEASE);
  } else {
    std::memcpy(host, write.bytes.data(), write.bytes.size());
  }
}

template <class Which>
void GuestMemory::land_all(Which&& which) {
  if (!caches_ || caches_->posted().empty()) return;
  while (auto write = caches_->posted().take(which)) put(*write);
}

void GuestMemory::land() {
  land_all([&](const PostedWrites::Write& write) { return write.queue == queue_; });
}

void GuestMemory::land_due() {
  if (!caches_ || caches_->posted().empty()) return;
  caches_->posted().age(queue_);
  land_all(
      [&](const PostedWrites::Write& write) { return write.queue == queue_ && write.turns == 0; });
}

void GuestMemory::land_in(u64 start, u64 end) {
  land_all([&](const PostedWrites::Write& write) { return write.overlaps(start, end - start); });
}

std::optional<u64> GuestMemory::copied(u64 from, u64 to, u64 bytes) {
  std::optional<u64> first;
  while (undefined_ && undefined_->any() && bytes > 0) {
    const Range* source = space_.find(from);
    const Range* target = space_.find(to);
    if (!source || !target || !source->host || !target->host) return first;
    const u64 part = std::min({bytes, source->end - from, target->end - to});
    const std::optional<u64> at = undefined_->copy(source->host + (from - source->start),
                                                   target->host + (to - target->start), part);
    if (at && !first && target->type.place == Place::Host) first = from + *at;
    from += part;
    to += part;
    bytes -= part;
  }
  return first;
}

bool GuestMemory::in_one_mapping(u64 va, u64 bytes) const {
  const Range* range = space_.find(va);
  return range && range->contains(va, bytes);
}

}  // namespace doorbell::emu::amdgpu
