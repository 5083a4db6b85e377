// BesideCublas: times of cuBLAS for the matrix products of `doorbell bench gemm`, on the same GPU
// in the same run. The library is opened by its name where the device is a CUDA one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/device/device.h"
#include "core/dtype/dtype.h"
#include "tools/measure/distribution.h"
#include "tools/measure/table.h"

namespace doorbell::tools::throughput {

class BesideCublas {
 public:
  // `device` outlives it.
  explicit BesideCublas(core::Device& device);
  ~BesideCublas();

  // Of the table: none where the device is not a CUDA one.
  std::vector<std::string> columns() const;
  // The library's version, or why there is none; empty where there are no columns.
  const std::string& note() const { return note_; }
  // Median microseconds of a product of n x n matrices, a cell for each column: nothing where
  // cuBLAS does not have it.
  std::vector<Cell> times_us(core::DType dtype, i64 n, const Sampling& sampling);

 private:
  class Library;
  bool is_cuda_ = false;
  std::string note_;
  std::unique_ptr<Library> library_;
};

}  // namespace doorbell::tools::throughput
