// Tensors of whole files: bytes, archives, PyTorch's files and the CIFAR-10 data set. For the
// formats see archive.h, gzip.h and torch_file.h; for other files safetensors.h and idx.h (MNIST).
//
// All throw Error, with the path in the message. Tensors but disk_tensor's are copies; the files
// may change afterwards. Only from_url fetches from a network, and only where its URL says so.
#pragma once

#include <optional>
#include <string>

#include "base/os/host.h"
#include "tensor/api/tensor.h"
#include "tensor/io/torch_file.h"
#include "tensor/nn/module.h"

namespace doorbell::io {

struct DiskOptions {
  DType dtype = dtypes::u8;
  i64 offset = 0;        // of the first element, in bytes; need not be aligned
  bool writable = true;  // open it for writing if permissions allow
};

// The elements of an existing file as a tensor on the device DISK; without a shape, all elements
// after the offset, along one axis. Nothing is read here: slice, permute, reshape and bitcast
// choose what a later to() or a read of the values reads. Assigning writes to the file at the call.
// The device computes nothing. The file stays open while a tensor on it lives.
Tensor disk_tensor(const std::string& path, const std::optional<Shape>& shape = {},
                   const DiskOptions& options = {}, os::Files& files = os::host_files());

struct FetchOptions {
  bool gunzip = false;  // decompress the bytes
  std::string device{};
};

// The bytes (u8) of a path or a file://, http:// or https:// URL.
Tensor from_url(const std::string& url, const FetchOptions& options = {},
                os::Files& files = os::host_files());

// The files inside, by name, as u8. Tar may be compressed by gzip, bzip2 or xz.
nn::NamedTensors zip_extract(const std::string& path, const std::string& device = {},
                             os::Files& files = os::host_files());
nn::NamedTensors tar_extract(const std::string& path, const std::string& device = {},
                             os::Files& files = os::host_files());

// The tensors of a file that torch.save wrote (.pt, .pth), by name: nested containers join their
// keys with dots. Nothing in the file is executed: anything but a tensor, number, text or container
// is an error that names it.
//   nn::load_state(model, io::torch_load("model.pth"));
nn::NamedTensors torch_load(const std::string& path, const std::string& device = {},
                            os::Files& files = os::host_files());

// The whole file: the dicts, lists, numbers and texts around the tensors too.
TorchValue torch_load_value(const std::string& path, os::Files& files = os::host_files());

struct Cifar {
  Tensor train_images, train_labels;  // (50000, 3, 32, 32) and (50000), u8
  Tensor test_images, test_labels;    // (10000, 3, 32, 32) and (10000), u8
};
// From the binary version: cifar-10-binary.tar.gz, or the folder with what it holds.
Cifar load_cifar(const std::string& path, const std::string& device = {},
                 os::Files& files = os::host_files());

}  // namespace doorbell::io
