// A program that starts and ends MPI itself, as mpi4py does. Doorbell uses what it started, and
// leaves before MPI ends: run.py starts several.
#include <mpi.h>

#include <cstdio>
#include <string>

#include "tensor/dist/dist.h"

int main() {
  using namespace doorbell;  // NOLINT(google-build-using-namespace)
  int provided = 0, size = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  dist::init({.timeout_s = 60});
  const Tensor own = Tensor::from_data(std::vector<f32>{static_cast<f32>(dist::rank()), 1}, {2});
  const std::vector<f32> sum = dist::all_reduce(own).to_vector<f32>();
  if (sum != std::vector<f32>{static_cast<f32>(size * (size - 1)) / 2, static_cast<f32>(size)})
    return std::fprintf(stderr, "a sum of %g and %g\n", sum[0], sum[1]), 1;
  MPI_Finalize();
  try {
    dist::barrier();
  } catch (const Error& error) {
    if (error.message == "MPI was ended by another part of this program") return 0;
    return std::fprintf(stderr, "another error: %s\n", error.message.c_str()), 1;
  }
  return size == 1 ? 0 : 1;
}
