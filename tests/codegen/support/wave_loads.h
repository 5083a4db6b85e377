// What loads of a wave give its items, of what all of them name (codegen/linear/program.h, Load).
#pragma once

#include <vector>

#include "base/util/check.h"
#include "base/util/types.h"

namespace doorbell::codegen {

// By item: words of what each eight items name; `word` is its elements. Of bytes, those transposed
// are of pairs.
template <class Value>
std::vector<Value> matrix_words(const std::vector<Value>& named, usize word, bool transposed) {
  constexpr usize kWave = 32, kWords = 4;
  const usize pair = word / 2;
  CHECK(named.size() % kWave == 0, "{} items in waves of {}", named.size(), kWave);
  std::vector<Value> made(named.size());
  for (usize l = 0; l < named.size(); ++l) {
    for (usize m = 0; m < kWords; ++m) {
      const usize first = l / kWave * kWave + 8 * m;
      for (usize i = 0; i < word; ++i)
        made[l].push_back(
            transposed ? named[first + 2 * (l % 4) + i / pair][l % kWave / 4 * pair + i % pair]
                       : named[first + l % kWave / 4][l % 4 * word + i]);
    }
  }
  return made;
}

// By item: `named` are rows of eight elements, of one byte each if they are narrow. As AMD's
// GLOBAL_LOAD_TR_B128 and GLOBAL_LOAD_TR_B64 do; for the sources see
// emulator/amd/isa/memory/transposed_loads.cc.
template <class Value>
std::vector<Value> transposed_rows(const std::vector<Value>& named, bool narrow) {
  constexpr usize kWave = 32, kLines = 8;
  CHECK(named.size() % kWave == 0, "{} items in waves of {}", named.size(), kWave);
  std::vector<Value> made(named.size());
  for (usize l = 0; l < named.size(); ++l) {
    const usize wave = l / kWave * kWave, item = l % kWave, column = item % kLines;
    for (usize row = 0; row < kLines; ++row) {
      const usize of_half = row % 4 + row / 4 * 8 + (item / 8 % 2) * 4;
      const usize from = narrow ? item / 16 * 16 + of_half : item - column + row;
      made[l].push_back(named[wave + from][column]);
    }
  }
  return made;
}

}  // namespace doorbell::codegen
