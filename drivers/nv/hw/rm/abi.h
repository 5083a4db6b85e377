// The interface of NVIDIA's kernel modules changes with their releases and has no versions of its
// own: RM refuses parameters of another size. This says which layouts a release has, and packs and
// unpacks the parameters of ioctls for it.
//
// A record of parameters lists its fields in the order of NVIDIA's struct; each is aligned to its
// size, as the C compiler of the kernel does it. A field that some releases lack is listed where
// the release has it:
//
//   struct Example {
//     static constexpr auto kName = "NV_EXAMPLE_PARAMS";
//     u32 index = 0;
//     u64 size = 0;
//     static void fields(auto& p, DriverAbi abi, auto f) {
//       f("index", p.index);
//       if (abi >= DriverAbi::R580) f("size", p.size);
//     }
//   };
//
// Names are NVIDIA's. Fields are unsigned or signed integers, bool (one byte), records, and arrays.
// Pointers are u64.
#pragma once

#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "base/util/check.h"
#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::nv::hw {

// The releases at which parameters that are used here changed. [NVIDIA/open-gpu-kernel-modules at
// 565.57.01, 570.86.16, 575.64.05, 580.95.05, 580.105.08, 590.44.01, 595.45.04 compared; 610:
// tinygrad 0.14.0 runtime/autogen/nv_610.py]
enum class DriverAbi : u8 { R570, R575, R580, R590, R610 };

// The ABI of a driver by the first number of its version: 580 of "580.159.03". Nothing for
// releases older than 570 and newer than 610, which nobody compared.
constexpr std::optional<DriverAbi> driver_abi(u32 release) {
  if (release < 570 || release > 610) return std::nullopt;
  if (release < 575) return DriverAbi::R570;
  if (release < 580) return DriverAbi::R575;
  if (release < 590) return DriverAbi::R580;
  return release < 610 ? DriverAbi::R590 : DriverAbi::R610;
}

namespace detail {

template <class T>
concept Parameters =
    requires(T& record, DriverAbi abi) { T::fields(record, abi, [](const char*, auto&) {}); };

template <class T>
struct ArrayOf {
  static constexpr bool kIs = false;
};
template <class E, usize n>
struct ArrayOf<std::array<E, n>> {
  static constexpr bool kIs = true;
};

constexpr usize align_up(usize offset, usize alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

template <class T>
constexpr usize alignment_of(DriverAbi abi) {
  if constexpr (Parameters<T>) {
    T record{};
    usize most = 1;
    T::fields(record, abi, [&](const char*, auto& value) {
      most = std::max(most, alignment_of<std::remove_cvref_t<decltype(value)>>(abi));
    });
    return most;
  } else if constexpr (ArrayOf<T>::kIs) {
    return alignment_of<typename T::value_type>(abi);
  } else {
    return sizeof(T);
  }
}

// Calls leaf(name, value, offset) for all integers of a record or an array; `name` is that of the
// innermost field. Returns the size.
template <class T, class F>
constexpr usize walk(T& value, DriverAbi abi, const char* name, usize offset, const F& leaf) {
  using Value = std::remove_cvref_t<T>;
  if constexpr (Parameters<Value>) {
    usize at = offset;
    Value::fields(value, abi, [&](const char* field, auto& one) {
      at = align_up(at, alignment_of<std::remove_cvref_t<decltype(one)>>(abi));
      at += walk(one, abi, field, at, leaf);
    });
    return align_up(at - offset, alignment_of<Value>(abi));
  } else if constexpr (ArrayOf<Value>::kIs) {
    usize at = offset;
    for (auto& one : value) at += walk(one, abi, name, at, leaf);
    return at - offset;
  } else {
    leaf(name, value, offset);
    return sizeof(Value);
  }
}

}  // namespace detail

// Calls leaf(name, value, offset) for the integers of a record in order, those of arrays one by
// one. Returns the size of the kernel's struct.
template <detail::Parameters T, class F>
constexpr usize for_each_field(T& record, DriverAbi abi, const F& leaf) {
  return detail::walk(record, abi, "", 0, leaf);
}

// The bytes of the kernel's struct.
template <detail::Parameters T>
usize packed_size(DriverAbi abi) {
  T record{};
  return for_each_field(record, abi, [](const char*, auto&, usize) {});
}

// The bytes that the ioctl takes; padding is zero.
template <detail::Parameters T>
std::vector<std::byte> pack(const T& record, DriverAbi abi) {
  std::vector<std::byte> bytes(packed_size<T>(abi));
  for_each_field(record, abi, [&](const char*, const auto& value, usize offset) {
    std::memcpy(bytes.data() + offset, &value, sizeof value);
  });
  return bytes;
}

// What the ioctl left there. Fails for bytes of another size.
template <detail::Parameters T>
Result<T> unpack(std::span<const std::byte> bytes, DriverAbi abi) {
  T record{};
  if (const usize size = packed_size<T>(abi); bytes.size() != size)
    return fail(ErrorKind::Corrupt, "{} of {} bytes, expected {}", T::kName, bytes.size(), size);
  for_each_field(record, abi, [&](const char*, auto& value, usize offset) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, bool>)
      value = bytes[offset] != std::byte{0};
    else
      std::memcpy(&value, bytes.data() + offset, sizeof value);
  });
  return record;
}

}  // namespace doorbell::nv::hw
