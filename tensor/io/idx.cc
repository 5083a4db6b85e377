// Loading of IDX files and of the MNIST data set.
#include "tensor/io/idx.h"

#include <algorithm>

#include "base/util/try.h"
#include "tensor/io/gzip.h"

namespace doorbell::io {

namespace {

constexpr usize kMaxBytes = usize{1} << 32;  // unpacked

Result<std::vector<u8>> read_maybe_packed(os::Files& files, const std::string& path) {
  const std::string packed = path + ".gz";
  const std::string& found = files.exists(path) || !files.exists(packed) ? path : packed;
  TRY(std::vector<u8> bytes, os::read_file(files, found));
  if (!is_gzip(bytes)) return bytes;
  return unpack_gzip(bytes, kMaxBytes);
}

// Elements in the host's byte order.
void swap_elements(std::span<u8> bytes, usize width) {
  for (usize i = 0; width > 1 && i + width <= bytes.size(); i += width) {
    std::reverse(bytes.begin() + static_cast<i64>(i), bytes.begin() + static_cast<i64>(i + width));
  }
}

[[noreturn]] void throw_about(const std::string& path, Error error) {
  error.message = path + ": " + error.message;
  throw error;
}

}  // namespace

Tensor load_idx(const std::string& path, const std::string& device, os::Files& files) {
  Result<std::vector<u8>> bytes = read_maybe_packed(files, path);
  if (!bytes) throw_about(path, std::move(bytes).error());
  Result<IdxHeader> header = parse_idx(*bytes);
  if (!header) throw_about(path, std::move(header).error());
  const std::span<u8> data = std::span(*bytes).subspan(header->data_start);
  swap_elements(data, static_cast<usize>(header->dtype.bytes()));
  return Tensor::from_bytes(std::as_bytes(data), header->dtype, header->shape, {.device = device});
}

Mnist load_mnist(const std::string& folder, const std::string& device, os::Files& files) {
  auto load = [&](const char* name, usize axes) {
    const std::string path = folder + "/" + name;
    Tensor tensor = load_idx(path, device, files);
    if (static_cast<usize>(tensor.ndim()) != axes || tensor.dtype() != dtypes::u8) {
      throw fail(ErrorKind::Corrupt, "{}: shape {} of {}, expected {} axes of uint8", path,
                 tensor.shape().str(), core::long_name_of(tensor.dtype().scalar), axes);
    }
    return tensor;
  };
  Mnist mnist;
  mnist.train_images = load("train-images-idx3-ubyte", 3);
  mnist.train_labels = load("train-labels-idx1-ubyte", 1);
  mnist.test_images = load("t10k-images-idx3-ubyte", 3);
  mnist.test_labels = load("t10k-labels-idx1-ubyte", 1);
  if (!(mnist.train_images.size(0) == mnist.train_labels.size(0)) ||
      !(mnist.test_images.size(0) == mnist.test_labels.size(0))) {
    throw fail(ErrorKind::Corrupt, "{}: images and labels differ in number", folder);
  }
  return mnist;
}

}  // namespace doorbell::io
