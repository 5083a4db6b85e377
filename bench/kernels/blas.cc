// Loads OpenBLAS by dlopen, so that it is not a dependency.
#include "bench/kernels/blas.h"

#include "base/util/try.h"

namespace doorbell::bench {
namespace {

// CBLAS's numbers for "row-major" and "not transposed".
constexpr int kRowMajor = 101, kPlain = 111;

}  // namespace

Result<Blas> Blas::open(int threads) {
  const std::string names[] = {"libopenblas.so.0", "libopenblas.so"};
  TRY(os::Library library, os::Library::open(names));
  TRY(Sgemm * sgemm, library.function<Sgemm>("cblas_sgemm"));
  TRY(auto* set_threads, library.function<void(int)>("openblas_set_num_threads"));
  set_threads(threads);
  return Blas(std::move(library), sgemm);
}

void Blas::multiply(const Product& product, const float* a, const float* b, float* c) const {
  const int m = static_cast<int>(product.m), n = static_cast<int>(product.n);
  const int k = static_cast<int>(product.k);
  sgemm_(kRowMajor, kPlain, kPlain, m, n, k, 1, a, k, b, n, 0, c, n);
}

std::string Blas::description() const {
  auto config = library_.function<char*()>("openblas_get_config");
  auto core = library_.function<char*()>("openblas_get_corename");
  std::string text = config ? (*config)() : "OpenBLAS";
  text = text.substr(0, text.find(' ', text.find(' ') + 1));
  return core ? text + ", kernels for " + (*core)() : text;
}

}  // namespace doorbell::bench
