// Waves' accesses through caches (adversarial_memory.h).
#include "emulator/amd/cp/adversarial_memory.h"

#include <algorithm>
#include <cstring>

namespace doorbell::emu::amdgpu {

AdversarialMemory::AdversarialMemory(const AddressSpace& space, Caches& caches,
                                     Generation generation, u32 xcc, std::string kernel)
    : space_(space), caches_(caches), generation_(generation) {
  reader_ = {.xcc = xcc,
             .dispatch = caches.begin_dispatch(),
             .kernel = caches.remember(std::move(kernel))};
}

const Range* AdversarialMemory::find(u64 va, Access access) {
  const Range* range = space_.find(va);
  auto kind = AccessFault::Kind::None;
  if (!range || !range->host)
    kind = AccessFault::Kind::NotPresent;
  else if (access == Access::Write && !range->writable)
    kind = AccessFault::Kind::ReadOnly;
  else if (access == Access::Execute && !range->executable)
    kind = AccessFault::Kind::NoExecute;
  if (kind == AccessFault::Kind::None) return range;
  fault_ = {.kind = kind, .address = va, .write = access == Access::Write};
  return nullptr;
}

bool AdversarialMemory::read(u64 va, u32 bytes, void* out, Door door, Reach reach, Access access) {
  reader_.door = door, reader_.reach = reach;
  u8* to = static_cast<u8*>(out);
  while (bytes > 0) {
    const Range* range = find(va, access);
    if (!range) return false;
    u32 part = static_cast<u32>(std::min<u64>(bytes, range->end - va));
    caches_.load(reader_, *range, va, {to, part});
    va += part, to += part, bytes -= part;
  }
  return true;
}

bool AdversarialMemory::load(u64 va, u32 bytes, void* out, CachePolicy policy) {
  return read(va, bytes, out, Door::Vector, reach_of(generation_, policy), Access::Read);
}

bool AdversarialMemory::scalar_load(u64 va, u32 bytes, void* out, CachePolicy policy) {
  return read(va, bytes, out, Door::Scalar, reach_of(generation_, policy), Access::Read);
}

bool AdversarialMemory::fetch(u64 va, u32 bytes, void* out) {
  return read(va, bytes, out, Door::Instructions, Reach::Unit, Access::Execute);
}

bool AdversarialMemory::store(u64 va, u32 bytes, const void* in, CachePolicy policy) {
  reader_.door = Door::Vector, reader_.reach = reach_of(generation_, policy);
  const u8* from = static_cast<const u8*>(in);
  while (bytes > 0) {
    const Range* range = find(va, Access::Write);
    if (!range) return false;
    u32 part = static_cast<u32>(std::min<u64>(bytes, range->end - va));
    caches_.store(reader_, *range, va, {from, part});
    va += part, from += part, bytes -= part;
  }
  return true;
}

bool AdversarialMemory::atomic(u64 va, u32 bytes, AtomicUpdate update, u64 operand, u64 compare,
                               u64& before, CachePolicy policy) {
  const Range* range = find(va, Access::Write);
  if (!range || !range->contains(va, bytes)) {
    if (range)
      fault_ = {.kind = AccessFault::Kind::NotPresent, .address = range->end, .write = true};
    return false;
  }
  // An atomic acts in the L2 at least; the lowest bit asks for the value before, not for a scope.
  bool system =
      generation_ == Generation::Gfx9
          ? (policy & kSc1) != 0
          : generation_ == Generation::Gfx12 && reach_of(generation_, policy) == Reach::System;
  reader_.door = Door::Vector;
  reader_.reach = system ? Reach::System : Reach::Device;
  caches_.atomic(reader_, *range, va, bytes, [&](u8* host) {
    // The host may be at the same word.
    if (bytes == 8) {
      std::atomic_ref<u64> cell(*reinterpret_cast<u64*>(host));
      u64 old = cell.load();
      while (!cell.compare_exchange_weak(old, update(old, operand, compare))) {
      }
      before = old;
    } else {
      std::atomic_ref<u32> cell(*reinterpret_cast<u32*>(host));
      u32 old = cell.load();
      while (!cell.compare_exchange_weak(old, static_cast<u32>(update(old, operand, compare)))) {
      }
      before = old;
    }
  });
  return true;
}

void AdversarialMemory::cache(CacheOperation operation, CachePolicy policy) {
  bool gfx9 = generation_ == Generation::Gfx9;
  unsigned scope = scope_of(policy);
  bool device = gfx9 ? policy & kSc1 : scope >= kDeviceScope;
  bool system = gfx9 ? (policy & kSc1) && (policy & kSc0) : scope == kSystemScope;
  // Where a device has several L2s, its scope reaches past them.
  bool past_l2 = system || (device && caches_.shape().xccs > 1);
  CacheActions actions;
  switch (operation) {
    case CacheOperation::ScalarInvalidate: actions.scalar = true; break;
    case CacheOperation::ScalarWriteBack: break;  // no scalar stores since gfx10
    case CacheOperation::InstructionInvalidate: actions.instructions = true; break;
    case CacheOperation::Gl0Invalidate: actions.vector = true; break;
    case CacheOperation::Gl1Invalidate: actions.gl1 = true; break;
    case CacheOperation::Invalidate: actions.vector = true, actions.l2_invalidate = past_l2; break;
    case CacheOperation::WriteBack: actions.l2_write_back = past_l2; break;
    case CacheOperation::WriteBackInvalidate:
      actions.vector = true, actions.l2_write_back = actions.l2_invalidate = past_l2;
      break;
  }
  caches_.act_unit(reader_.xcc, reader_.unit, actions);
}

}  // namespace doorbell::emu::amdgpu
