// The table of loads and stores that GLOBAL, FLAT, SCRATCH and BUFFER have in common, made from the
// access of one element.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "emulator/amd/isa/memory/lane_access.h"

namespace doorbell::emu::amdgpu {

struct NamedElement {
  std::string_view name;
  Element element;
};
inline constexpr NamedElement kLoads[] = {
    {"LOAD_U8", Element::U8},
    {"LOAD_I8", Element::I8},
    {"LOAD_U16", Element::U16},
    {"LOAD_I16", Element::I16},
    {"LOAD_D16_U8", Element::D16U8},
    {"LOAD_D16_I8", Element::D16I8},
    {"LOAD_D16_B16", Element::D16B16},
    {"LOAD_D16_HI_U8", Element::D16HiU8},
    {"LOAD_D16_HI_I8", Element::D16HiI8},
    {"LOAD_D16_HI_B16", Element::D16HiB16},
    {"LOAD_B32", Element::B32},
    {"LOAD_B64", Element::B64},
    {"LOAD_B96", Element::B96},
    {"LOAD_B128", Element::B128},
};
inline constexpr NamedElement kStores[] = {
    {"STORE_B8", Element::U8},
    {"STORE_B16", Element::U16},
    {"STORE_D16_HI_B8", Element::D16HiU8},
    {"STORE_D16_HI_B16", Element::D16HiB16},
    {"STORE_B32", Element::B32},
    {"STORE_B64", Element::B64},
    {"STORE_B96", Element::B96},
    {"STORE_B128", Element::B128},
};
inline constexpr usize kAccesses = std::size(kLoads) + std::size(kStores);
constexpr const NamedElement& access(usize i) {
  return i < std::size(kLoads) ? kLoads[i] : kStores[i - std::size(kLoads)];
}

// `Space` has the names' prefix and, by element, `load` and `store`.
template <class Space>
struct AccessTable {
  static constexpr usize kMaxName = 32;

  static constexpr auto kNames = [] {
    std::array<std::array<char, kMaxName>, kAccesses> names{};
    for (usize i = 0; i < kAccesses; ++i) {
      usize length = 0;
      for (char c : Space::kPrefix) names[i][length++] = c;
      for (char c : access(i).name) names[i][length++] = c;
    }
    return names;
  }();

  template <usize i>
  static constexpr Entry entry() {
    constexpr Element e = access(i).element;
    constexpr std::string_view kName(kNames[i].data(),
                                     Space::kPrefix.size() + access(i).name.size());
    if constexpr (i < std::size(kLoads)) {
      constexpr Handler kHandler = &Space::template load<e>;
      return {kName, load_shape(e), kHandler, &fast_memory<kHandler>};
    } else {
      constexpr Handler kHandler = &Space::template store<e>;
      return {kName, store_shape(e), kHandler, &fast_memory<kHandler>};
    }
  }

  static constexpr auto kEntries = []<usize... i>(std::index_sequence<i...>) {
    return std::array{entry<i>()...};
  }(std::make_index_sequence<kAccesses>{});
};

}  // namespace doorbell::emu::amdgpu
