// What torch.save wrote, without PyTorch: the zip format (1.6 and later) and the plain pickles
// before it. Only tensors, and the dicts, lists, tuples, numbers and texts around them, are read;
// a pickle that names anything else (a whole module, say) is refused with the name. Nothing of the
// file is run. Tensors of what is read are files.h's.
#pragma once

#include <span>
#include <string>
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

}  // namespace doorbell::io
