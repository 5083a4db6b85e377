// Compares the text of the interpreter's decoder with nvdisasm's, and counts opcodes:
//
//   nvidia_text CUBIN TEXT [CUBIN TEXT...]
//   nvidia_text --words CHIP WORDS TEXT
//   nvidia_text --opcodes: the number and name of each opcode that has a handler
//
// TEXT is what nvdisasm -c prints of CUBIN, or nvdisasm -b SM90 of WORDS, a file of instructions
// alone; CHIP is 90 of sm_90. The exit status is 1 if a line differs, or if an opcode
// has no handler.
#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <span>
#include <string_view>

#include "emulator/nv/isa/opcode.h"
#include "tests/emulator/nv/nvdisasm_text.h"

namespace doorbell::emu::nvgpu::testing {
namespace {

std::string read(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::span<const u8> bytes_of(const std::string& text) {
  return {reinterpret_cast<const u8*>(text.data()), text.size()};
}

struct Sum {
  TextComparison all;
  int status = 0;

  void add(const TextComparison& one) {
    all.instructions += one.instructions;
    for (const std::string& line : one.differences) fmt::print("{}\n", line), status = 1;
    for (const auto& [name, uses] : one.executed) all.executed[name] += uses;
    for (const auto& [name, uses] : one.not_executed) all.not_executed[name] += uses;
  }
  int finish() {
    fmt::print("{} instructions of {} opcodes are executed", all.instructions, all.executed.size());
    for (const auto& [name, uses] : all.not_executed) {
      fmt::print("; {} is not ({} uses)", name, uses);
      status = 1;
    }
    fmt::print("\n");
    return status;
  }
};

int compare_cubins(std::span<char*> paths) {
  Sum sum;
  for (usize i = 0; i + 1 < paths.size(); i += 2) {
    const std::string image = read(paths[i]);
    const auto cubin = Cubin::parse(bytes_of(image));
    if (!cubin) {
      fmt::print("{}: {}\n", paths[i], to_string(cubin.error()));
      return 1;
    }
    sum.add(compare_text(read(paths[i + 1]), **cubin));
  }
  return sum.finish();
}

int list_opcodes() {
  for (const Opcode& opcode : all_opcodes())
    if (opcode.handler != nullptr) fmt::print("{} {}\n", opcode.number, opcode.name);
  return 0;
}

int run(std::span<char*> arguments) {
  if (arguments.size() == 2 && std::string_view(arguments[1]) == "--opcodes") return list_opcodes();
  if (arguments.size() != 5 || std::string_view(arguments[1]) != "--words")
    return compare_cubins(arguments.subspan(1));
  Sum sum;
  const std::string words = read(arguments[3]);
  const u32 chip = static_cast<u32>(std::strtoul(arguments[2], nullptr, 10));
  sum.add(compare_words(read(arguments[4]), bytes_of(words), chip));
  return sum.finish();
}

}  // namespace
}  // namespace doorbell::emu::nvgpu::testing

int main(int count, char** arguments) {
  return doorbell::emu::nvgpu::testing::run({arguments, static_cast<std::size_t>(count)});
}
