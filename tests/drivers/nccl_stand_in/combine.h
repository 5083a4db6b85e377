// Sums and others of the stand-in, element by element, in the order of the ranks.
#pragma once

#include <algorithm>
#include <cstring>

#include "tests/drivers/nccl_stand_in/shared.h"

namespace doorbell::stand_in {

inline usize bytes_of(Type type) {
  switch (type) {
    case Type::I8:
    case Type::U8: return 1;
    case Type::I32:
    case Type::U32:
    case Type::F32: return 4;
    default: return 8;
  }
}

template <class T>
void combine_as(Combine combine, void* into, const void* from, usize count) {
  for (usize i = 0; i < count; ++i) {
    T a, b;
    std::memcpy(&a, static_cast<u8*>(into) + i * sizeof(T), sizeof(T));
    std::memcpy(&b, static_cast<const u8*>(from) + i * sizeof(T), sizeof(T));
    switch (combine) {
      case Combine::Sum: a = static_cast<T>(a + b); break;
      case Combine::Product: a = static_cast<T>(a * b); break;
      case Combine::Max: a = std::max(a, b); break;
      case Combine::Min: a = std::min(a, b); break;
    }
    std::memcpy(static_cast<u8*>(into) + i * sizeof(T), &a, sizeof(T));
  }
}

// Integers wrap, so those without a sign do for sums and products of all.
inline void combine(Type type, Combine how, void* into, const void* from, usize count) {
  switch (type) {
    case Type::I8: return combine_as<i8>(how, into, from, count);
    case Type::U8: return combine_as<u8>(how, into, from, count);
    case Type::I32: return combine_as<i32>(how, into, from, count);
    case Type::U32: return combine_as<u32>(how, into, from, count);
    case Type::I64: return combine_as<i64>(how, into, from, count);
    case Type::U64: return combine_as<u64>(how, into, from, count);
    case Type::F32: return combine_as<f32>(how, into, from, count);
    case Type::F64: return combine_as<f64>(how, into, from, count);
  }
}

}  // namespace doorbell::stand_in
