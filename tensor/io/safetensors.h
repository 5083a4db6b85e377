// Safetensors files: an 8-byte header length, a JSON header, then the bytes of the tensors without
// gaps (github.com/huggingface/safetensors, "Format"). Reading trusts nothing: every refusal names
// the byte it is about. What the tensors mean is the caller's.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/os/host.h"
#include "tensor/api/tensor.h"
#include "tensor/nn/module.h"

namespace doorbell::io {

// One tensor of a file, as its header says; checked against the file's size and the shape.
struct SafetensorsEntry {
  std::string name;
  DType dtype;
  std::vector<i64> shape;
  u64 begin = 0, end = 0;  // in the file
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of their bytes
  std::map<std::string, std::string> metadata;
};

// Of the bytes of a whole file.
Result<SafetensorsHeader> parse_safetensors(std::span<const u8> file);

struct Safetensors {
  nn::NamedTensors tensors;
  std::map<std::string, std::string> metadata;
};

// Throw Error. The tensors are copies; the file may change afterwards.
Safetensors load_safetensors(const std::string& path, const std::string& device = {},
                             os::Files& files = os::host_files());
// Replaces the file in one step. Tensors are realized and written in the order given.
void save_safetensors(const std::string& path, const nn::NamedTensors& tensors,
                      const std::map<std::string, std::string>& metadata = {},
                      os::Files& files = os::host_files());

}  // namespace doorbell::io
