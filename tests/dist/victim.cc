// One of several processes that exchange for ever, for faults.py: it says when it has begun, stops
// of its own where it is told to, and prints the error that ends it.
//
// usage: victim FOLDER [MODE RANK EXCHANGES]    MODE: kill, stop or lag, after so many exchanges
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "tensor/dist/dist.h"

int main(int argc, char** argv) {
  using namespace doorbell;  // NOLINT(google-build-using-namespace)
  const std::string mode = argc > 2 ? argv[2] : "";
  const int rank = argc > 3 ? std::atoi(argv[3]) : -1;
  const int exchanges = argc > 4 ? std::atoi(argv[4]) : 0;
  const std::string file = std::string(argv[1]) + "/error";
  try {
    dist::init({.timeout_s = 2});
    // faults.py ends it in the end, stopped or not.
    std::fclose(
        std::fopen((std::string(argv[1]) + "/" + std::to_string(getpid()) + ".pid").c_str(), "w"));
    for (int i = 0;; ++i) {
      if (dist::rank() == rank && i == exchanges) {
        if (mode == "lag") std::this_thread::sleep_for(std::chrono::seconds(30));
        raise(mode == "kill" ? SIGKILL : SIGSTOP);
      }
      dist::all_reduce(Tensor::ones({3}) * static_cast<f64>(i)).to_vector<f32>();
    }
  } catch (const Error& error) {
    const std::string own = file + std::to_string(dist::rank());
    if (FILE* out = std::fopen((own + ".partial").c_str(), "w")) {
      std::fputs(error.message.c_str(), out);
      std::fclose(out);
      std::rename((own + ".partial").c_str(), own.c_str());
    }
    // Open MPI's mpirun ends all others when one fails: not before they have said theirs.
    std::this_thread::sleep_for(std::chrono::seconds(30));
  }
  return 3;
}
