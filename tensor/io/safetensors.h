// Tensors by name, from and to safetensors files. For the format see safetensors_header.h; what the
// tensors mean is the caller's.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "base/os/host.h"
#include "tensor/api/tensor.h"
#include "tensor/io/safetensors_header.h"
#include "tensor/nn/module.h"

namespace doorbell::io {

struct Safetensors {
  nn::NamedTensors tensors;
  std::map<std::string, std::string> metadata;
};

// Throw Error. The tensors are copies, and the file may change afterwards; with the device DISK
// they are on the file, read where they are copied (disk_tensor of files.h), and never written.
Safetensors load_safetensors(const std::string& path, const std::string& device = {},
                             os::Files& files = os::host_files());
// Names, dtypes, shapes and metadata alone; the tensors stay on the disk.
SafetensorsHeader load_safetensors_header(const std::string& path,
                                          os::Files& files = os::host_files());
// Replaces the file as os::replace_file() does: in one step, through links, with its mode; what is
// no regular file is refused. Tensors are realized and written in the order given.
void save_safetensors(const std::string& path, const nn::NamedTensors& tensors,
                      const std::map<std::string, std::string>& metadata = {},
                      os::Files& files = os::host_files());

}  // namespace doorbell::io
