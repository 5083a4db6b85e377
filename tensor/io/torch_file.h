// What torch.save wrote, without PyTorch: the zip format (1.6 and later) and the plain pickles
// before it. Only tensors, and the dicts, lists, tuples, numbers and texts around them, are read; a
// pickle that names anything else (a whole module, say) is refused with the name. Nothing of the
// file is run. For tensors of what is read see files.h.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"
#include "core/dtype/dtype.h"

namespace doorbell::io {

struct TorchEntry {
  std::string name;  // keys and numbers from the outside in: "model.layers.0.weight"
  core::DType dtype;
  std::vector<i64> shape;
  std::vector<u8> bytes;  // row-major, whatever the strides were
};

// The tensors of a whole file, in its order; other values are passed over. A tensor without a
// container is named "".
Result<std::vector<TorchEntry>> parse_torch(std::span<const u8> file);

// What was saved, as it was: an optimiser's state is dicts and lists with numbers beside tensors.
struct TorchValue {
  enum class Kind : u8 { None, Bool, Int, Float, Text, Tensor, List, Tuple, Dict };
  Kind kind = Kind::None;
  i64 integer = 0;  // of Bool and Int
  f64 real = 0;
  std::string text;
  TorchEntry tensor{};
  std::vector<TorchValue> items;  // of a Dict keys and values by turns

  // The value of a dict under this text; null where there is none, or no dict.
  const TorchValue* find(std::string_view key) const;
};
Result<TorchValue> parse_torch_value(std::span<const u8> file);

}  // namespace doorbell::io
