// A map as numbers: slot, offset, bytes of an element, then each dimension.
#include "codegen/linear/tensor_copy.h"

#include <algorithm>

#include "base/util/check.h"

namespace doorbell::codegen {

using core::TensorMap;
using core::UOp;

std::vector<i64> tensor_copy_args(const TensorMap& map, i64 phase_bytes) {
  std::vector<i64> args{kTensorCopy, phase_bytes, map.slot, map.offset, map.element_bytes};
  for (const TensorMap::Dimension& d : map.dimensions)
    args.insert(args.end(), {d.size, d.stride, d.box});
  return args;
}

TensorMap tensor_map_of(UOp copy) {
  constexpr usize kFirst = 5;
  TensorMap map{copy.arg(2), copy.arg(3), copy.arg(4), {}};
  for (usize i = kFirst; i + 2 < copy.narg(); i += 3)
    map.dimensions.push_back({copy.arg(i), copy.arg(i + 1), copy.arg(i + 2)});
  return map;
}

std::vector<TensorMap> tensor_maps_of(std::span<const UOp> ops) {
  std::vector<TensorMap> maps;
  for (UOp u : ops) {
    if (!is_tensor_copy(u)) continue;
    TensorMap map = tensor_map_of(u);
    if (std::ranges::find(maps, map) == maps.end()) maps.push_back(std::move(map));
  }
  return maps;
}

usize tensor_map_number(const LinearProgram& program, UOp copy) {
  const auto at = std::ranges::find(program.tensor_maps, tensor_map_of(copy));
  CHECK(at != program.tensor_maps.end(), "a copy by none of the {} maps of {}",
        program.tensor_maps.size(), program.name);
  return static_cast<usize>(at - program.tensor_maps.begin());
}

}  // namespace doorbell::codegen
