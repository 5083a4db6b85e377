// One of several processes that sum for ever, for nccl.py, until an error ends it.
//
// usage: nccl_victim FOLDER TIMEOUT_S    writes PID.pid, and errorRANK in the end
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "tensor/dist/dist.h"

namespace {

void write(const std::string& path, const std::string& text) {
  if (FILE* out = std::fopen((path + ".partial").c_str(), "w")) {
    std::fputs(text.c_str(), out);
    std::fclose(out);
    std::rename((path + ".partial").c_str(), path.c_str());
  }
}

}  // namespace

int main(int, char** argv) {
  using namespace doorbell;  // NOLINT(google-build-using-namespace)
  const std::string folder = std::string(argv[1]) + "/";
  try {
    dist::init({.timeout_s = std::atof(argv[2])});
    write(folder + std::to_string(getpid()) + ".pid", "");
    for (int i = 0;; ++i)
      dist::all_reduce(Tensor::ones({3}) * static_cast<f64>(i)).to_vector<f32>();
  } catch (const Error& ended) {
    // What a kernel made of an exchange's result is only said to be without a value; the next
    // exchange tells why.
    std::string message = ended.message;
    try {
      dist::barrier();
    } catch (const Error& why) {
      message = why.message;
    }
    write(folder + "error" + std::to_string(dist::rank()), message);
  }
  // Open MPI's mpirun ends all others when one fails: not before they have said theirs.
  std::this_thread::sleep_for(std::chrono::seconds(100));
  _exit(3);
}
