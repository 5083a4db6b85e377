// Tensors from IDX files, plain or compressed with gzip. For the format see idx_header.h.
#pragma once

#include <string>

#include "base/os/host.h"
#include "tensor/api/tensor.h"
#include "tensor/io/idx_header.h"

namespace doorbell::io {

// Throw Error. "name" or, where that does not exist, "name.gz".
Tensor load_idx(const std::string& path, const std::string& device = {},
                os::Files& files = os::host_files());

struct Mnist {
  Tensor train_images, train_labels;  // (60000, 28, 28) and (60000), u8
  Tensor test_images, test_labels;    // (10000, 28, 28) and (10000), u8
};
// From a folder with the four files of their usual names. Fashion-MNIST has the same names and
// form.
Mnist load_mnist(const std::string& folder, const std::string& device = {},
                 os::Files& files = os::host_files());

}  // namespace doorbell::io
