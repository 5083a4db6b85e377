// One of several processes that exchange for ever, for faults.py, which reads the files that they
// write into a folder: RANK.pid, "fault" at the moment of it, and RANK.end with what ended each.
//
// usage: victim FOLDER MODE RANK EXCHANGES DELAY_US
//   Process RANK, so long after it begins exchange number EXCHANGES, does by MODE:
//     kill, stop   what it says
//     lag          nothing, until all others have failed; then it goes on
//     pause        stops, and is continued early: all do as many exchanges again, and end well
//     early-kill, early-stop   before dist::init()
//     late-kill, late-stop     where the others wait for it to leave
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tensor/dist/dist.h"

namespace {

using namespace doorbell;  // NOLINT(google-build-using-namespace)

struct Plan {
  std::string folder, mode;
  int rank, exchanges, delay_us;

  bool is(const char* text) const { return mode.find(text) != std::string::npos; }
  std::string path(const std::string& name) const { return folder + "/" + name; }
};

void write(const std::string& path, const std::string& text) {
  if (FILE* out = std::fopen((path + ".partial").c_str(), "w")) {
    std::fputs(text.c_str(), out);
    std::fclose(out);
    std::rename((path + ".partial").c_str(), path.c_str());
  }
}

void wait_for(const std::string& path) {
  while (access(path.c_str(), F_OK) != 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

[[noreturn]] void vanish(const Plan& plan) {
  write(plan.path("fault"), "");
  kill(getpid(), plan.is("kill") ? SIGKILL : SIGSTOP);
  while (true) pause();
}

// Exchange number i, of another kind each time; whether its values are right.
bool exchange(int i) {
  const int count = dist::world_size(), rank = dist::rank();
  // From memory, so that no number is compiled into a kernel.
  const std::vector<f32> numbers(static_cast<usize>(count), static_cast<f32>(i + rank));
  const Tensor own = Tensor::from_data(numbers, {count});
  const auto is = [](const Tensor& x, int expected) {
    return x.to_vector<f32>()[0] == static_cast<f32>(expected);
  };
  const int sum = count * i + count * (count - 1) / 2, one = i % count;
  switch (i % 7) {
    case 0: return is(dist::all_reduce(own), sum);
    case 1: return is(dist::all_gather(own)[count - 1], i + count - 1);
    case 2: return is(dist::reduce_scatter(own), sum);
    case 3: return is(dist::all_to_all(own)[count - 1], i + count - 1);
    case 4: return is(dist::broadcast(own, one), i + one);
    case 5: return dist::barrier(), true;
    default: {
      // Of two processes alone, and everyone learns what it is.
      const std::vector<f32> same(4, static_cast<f32>(i));
      const std::string pair = "CPU@" + std::to_string(std::min(one, (one + 1) % count)) + ",CPU@" +
                               std::to_string(std::max(one, (one + 1) % count));
      return is(
          Tensor::from_data(same, {4}).shard(pair, 0).sum().reshape({1}).to(dist::devices("CPU")),
          4 * i);
    }
  }
}

// Until an error ends it, or, of a pause, all is done.
bool exchange_on(const Plan& plan) {
  const bool is_own = dist::rank() == plan.rank;
  bool is_right = true;
  for (int i = 0; !plan.is("pause") || i < 2 * plan.exchanges; ++i) {
    if (i == plan.exchanges && plan.is("late")) {
      // Not before all are here.
      dist::barrier();
      if (is_own) vanish(plan);
      dist::destroy();
    }
    if (i == plan.exchanges && is_own && plan.is("lag")) {
      write(plan.path("fault"), "");
      for (int other = 0; other < dist::world_size(); ++other)
        if (other != plan.rank) wait_for(plan.path(std::to_string(other) + ".end"));
    } else if (i == plan.exchanges && is_own && !plan.is("late")) {
      std::thread([&plan] {
        std::this_thread::sleep_for(std::chrono::microseconds(plan.delay_us));
        write(plan.path("fault"), "");
        kill(getpid(), plan.is("kill") ? SIGKILL : SIGSTOP);
      }).detach();
    }
    is_right &= exchange(i);
  }
  return is_right;
}

// What this process can still do: not exchange, but compute.
std::string afterwards() {
  std::string again = "no error";
  try {
    dist::barrier();
  } catch (const Error& error) {
    again = error.message;
  }
  const Tensor x = Tensor::from_data(std::vector<f32>{1, 2, 3}, {3});
  const bool computes = (x * x).sum().to_vector<f32>()[0] == 14;
  return again + "\n" + (computes ? "computes" : "does not compute");
}

int own_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"})
    if (const char* text = std::getenv(name)) return std::atoi(text);
  return -1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  const Plan plan{argv[1], argv[2], std::atoi(argv[3]), std::atoi(argv[4]), std::atoi(argv[5])};
  const std::string rank = std::to_string(own_rank());
  // faults.py ends it in the end, stopped or not.
  write(plan.path(rank + ".pid"), std::to_string(getpid()));
  try {
    if (plan.is("early") && own_rank() == plan.rank) vanish(plan);
    // A process that is to go on must not be late on a busy machine.
    dist::init({.timeout_s = plan.is("pause") ? 60.0 : 4.0});
    write(plan.path(rank + ".end"), exchange_on(plan) ? "all right" : "wrong values");
  } catch (const Error& error) {
    const std::string then = dist::is_initialized() ? afterwards() : error.message + "\ncomputes";
    write(plan.path(rank + ".end"), error.message + "\n" + then);
  }
  // Open MPI's mpirun ends all others when one fails: not before they have said theirs.
  std::this_thread::sleep_for(std::chrono::seconds(100));
  _exit(3);
}
