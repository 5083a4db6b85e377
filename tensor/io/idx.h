// IDX files, the format of the MNIST data (yann.lecun.com/exdb/mnist, "The IDX file format"): a
// magic word with the element type and the number of axes, big-endian sizes, big-endian elements.
// Files may be compressed with gzip. Reading trusts nothing.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/os/host.h"
#include "tensor/api/tensor.h"

namespace doorbell::io {

struct IdxHeader {
  DType dtype;
  std::vector<i64> shape;
  u64 data_start = 0;  // bytes before the elements
};

// Of the bytes of a whole file, not compressed.
Result<IdxHeader> parse_idx(std::span<const u8> file);

// A gzip member, unpacked; at most `most` bytes.
Result<std::vector<u8>> unpack_gzip(std::span<const u8> packed, usize most);

// Throw Error. "name" or, where that does not exist, "name.gz".
Tensor load_idx(const std::string& path, const std::string& device = {},
                os::Files& files = os::host_files());

struct Mnist {
  Tensor train_images, train_labels;  // (60000, 28, 28) and (60000), u8
  Tensor test_images, test_labels;    // (10000, 28, 28) and (10000), u8
};
// From a folder with the four files of their usual names.
Mnist load_mnist(const std::string& folder, const std::string& device = {},
                 os::Files& files = os::host_files());

}  // namespace doorbell::io
