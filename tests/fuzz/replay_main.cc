// Runs a fuzz target without libFuzzer: TARGET [--seconds=N] [--seed=N] FILE|FOLDER...
// Every seed is run as it is; then, for N seconds, with random changes, blind to coverage
// (libFuzzer's part, see scripts/fuzz). An input that throws or crashes is written to crash-TARGET
// in the current folder.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/util/types.h"

extern "C" int LLVMFuzzerTestOneInput(const doorbell::u8* data, std::size_t size);

namespace {

using doorbell::u64;
using doorbell::u8;
using doorbell::usize;
using Input = std::vector<u8>;
namespace fs = std::filesystem;

// What a dying run needs; global because a signal handler gets no argument.
const Input* g_input = nullptr;
char g_crash_path[512];

void save_input() {
  int file = open(g_crash_path, O_CREAT | O_WRONLY | O_TRUNC, 0666);
  bool saved = file >= 0 && write(file, g_input->data(), g_input->size()) ==
                                static_cast<ssize_t>(g_input->size());
  constexpr std::string_view kSaved = "the input is in the crash file\n", kLost = "input lost\n";
  std::string_view message = saved ? kSaved : kLost;
  if (write(2, message.data(), message.size()) < 0) _exit(1);
}

void on_signal(int number) {
  save_input();
  signal(number, SIG_DFL);
  raise(number);
}

void run(const Input& input) {
  g_input = &input;
  try {
    LLVMFuzzerTestOneInput(input.data(), input.size());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "threw: %s\n", error.what());
    save_input();
    std::exit(1);
  }
}

Input read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return Input(std::istreambuf_iterator<char>(file), {});
}

std::vector<Input> read_seeds(const std::vector<fs::path>& paths) {
  std::vector<fs::path> files;
  for (const fs::path& path : paths) {
    if (!fs::is_directory(path))
      files.push_back(path);
    else
      for (const auto& entry : fs::recursive_directory_iterator(path))
        if (entry.is_regular_file()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Input> seeds;
  for (const fs::path& file : files) seeds.push_back(read(file));
  return seeds;
}

Input mutate(const std::vector<Input>& seeds, std::mt19937_64& random) {
  auto below = [&](usize bound) { return static_cast<usize>(random() % bound); };
  Input input = seeds.empty() ? Input() : seeds[below(seeds.size())];
  for (usize changes = 1 + below(8); changes > 0; --changes) {
    u8 byte = static_cast<u8>(random());
    auto at = [&] { return input.begin() + static_cast<std::ptrdiff_t>(below(input.size())); };
    usize kind = input.empty() ? 0 : below(5);
    if (kind == 0)
      input.insert(input.end(), byte);
    else if (kind == 1)
      *at() = byte;
    else if (kind == 2)
      *at() ^= static_cast<u8>(1u << below(8));
    else if (kind == 3)
      input.erase(at());
    else
      input.insert(at(), byte);
  }
  return input;
}

}  // namespace

int main(int count, char** arguments) {
  double seconds = 0;
  u64 seed = std::random_device{}();
  std::vector<fs::path> paths;
  for (int i = 1; i < count; ++i) {
    std::string_view argument = arguments[i];
    if (argument.starts_with("--seconds="))
      seconds = std::strtod(arguments[i] + 10, nullptr);
    else if (argument.starts_with("--seed="))
      seed = std::strtoull(arguments[i] + 7, nullptr, 0);
    else
      paths.emplace_back(argument);
  }
  std::snprintf(g_crash_path, sizeof g_crash_path, "crash-%s",
                fs::path(arguments[0]).filename().c_str());
  for (int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) signal(number, on_signal);

  std::vector<Input> seeds = read_seeds(paths);
  for (const Input& input : seeds) run(input);
  std::printf("%zu seeds replayed\n", seeds.size());
  if (seconds <= 0) return seeds.empty() ? 1 : 0;  // nothing to replay is a mistake in the command

  std::printf("mutating for %g s, --seed=%llu\n", seconds, static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  std::mt19937_64 random(seed);
  auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  u64 runs = 0;
  for (; std::chrono::steady_clock::now() < end; ++runs) run(mutate(seeds, random));
  std::printf("%llu runs\n", static_cast<unsigned long long>(runs));
  return 0;
}
