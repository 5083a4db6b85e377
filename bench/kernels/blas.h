// OpenBLAS's sgemm, if this machine has the library, to compare matrix products with.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/os/library.h"
#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::bench {

// Of an m x k by a k x n matrix.
struct Product {
  i64 m = 0, n = 0, k = 0;
};

class Blas {
 public:
  // For this many threads. Fails if OpenBLAS is not found.
  static Result<Blas> open(int threads);

  // c = a * b, all row-major.
  void multiply(const Product& product, const float* a, const float* b, float* c) const;
  // "OpenBLAS 0.3.21, kernels for SkylakeX".
  std::string description() const;

 private:
  using Sgemm = void(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                     const float* a, int lda, const float* b, int ldb, float beta, float* c,
                     int ldc);
  Blas(os::Library library, Sgemm* sgemm) : library_(std::move(library)), sgemm_(sgemm) {}

  os::Library library_;
  Sgemm* sgemm_;
};

}  // namespace doorbell::bench
