// Compares the text of the interpreter's decoder with nvdisasm's, and counts opcodes:
//
//   nvidia_text CUBIN TEXT [CUBIN TEXT...]
//
// TEXT is what nvdisasm -c prints of CUBIN. The exit status is 1 if a line differs, or if an opcode
// has no handler.
#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "tests/emulator/nv/nvdisasm_text.h"

namespace doorbell::emu::nvgpu::testing {
namespace {

std::string read(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int run(int count, char** paths) {
  TextComparison sum;
  int status = 0;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string image = read(paths[i]);
    const auto cubin = Cubin::parse({reinterpret_cast<const u8*>(image.data()), image.size()});
    if (!cubin) {
      fmt::print("{}: {}\n", paths[i], to_string(cubin.error()));
      return 1;
    }
    const TextComparison one = compare_text(read(paths[i + 1]), **cubin);
    sum.instructions += one.instructions;
    for (const std::string& line : one.differences) fmt::print("{}\n", line), status = 1;
    for (const auto& [name, uses] : one.executed) sum.executed[name] += uses;
    for (const auto& [name, uses] : one.not_executed) sum.not_executed[name] += uses;
  }
  fmt::print("{} instructions of {} opcodes are executed", sum.instructions, sum.executed.size());
  for (const auto& [name, uses] : sum.not_executed) {
    fmt::print("; {} is not ({} uses)", name, uses);
    status = 1;
  }
  fmt::print("\n");
  return status;
}

}  // namespace
}  // namespace doorbell::emu::nvgpu::testing

int main(int count, char** paths) { return doorbell::emu::nvgpu::testing::run(count, paths); }
