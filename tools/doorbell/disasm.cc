// `doorbell disasm`: the code in an ELF object or shared object, of an AMD GPU or of this machine's
// CPU: kernels with their descriptors, then instructions. LLVM prints the instructions.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/elf/elf_file.h"
#include "base/os/host.h"
#include "codegen/compile/llvm_compiler.h"
#include "drivers/amd/hw/abi/elf_chip.h"
#include "drivers/amd/hw/abi/kernel_descriptor.h"
#include "drivers/amd/hw/stream/describe.h"
#include "tools/doorbell/commands.h"
#include "tools/doorbell/or_throw.h"

namespace doorbell::tools {
namespace {

using namespace amd::hw;

struct Options {
  std::string file, chip;
};

constexpr std::string_view kDescriptorSuffix = ".kd";

std::vector<elf::Symbol> symbols_of(const elf::ElfFile& file) {
  for (const char* name : {".symtab", ".dynsym"})
    if (const elf::Section* table = file.find_section(name)) return or_throw(file.symbols(*table));
  return {};
}

// Bytes of a symbol in its section; values are addresses where the object is linked.
std::span<const u8> bytes_of(const elf::ElfFile& file, const elf::Symbol& symbol) {
  if (symbol.section >= file.sections().size()) return {};
  const elf::Section& section = file.sections()[symbol.section];
  const u64 at = symbol.value - section.address;
  if (at > section.data.size() || symbol.size > section.data.size() - at) return {};
  return section.data.subspan(at, symbol.size);
}

// One line: "k.kd group_segment_fixed_size=0x100 ... enable_wavefront_size32".
void print_descriptor(const elf::Symbol& symbol, std::span<const u8> bytes, Generation generation) {
  Words<KernelDescriptor> words;
  std::copy_n(bytes.data(), sizeof words, reinterpret_cast<u8*>(words.data()));
  StreamPacket line;
  line.name = symbol.name;
  describe_fields<KernelDescriptor>(words, "", &line);
  const std::span<const u32> all(words);
  describe_fields<ComputePgmRsrc1>(all.subspan(12), "rsrc1.", &line);
  describe_fields<ComputePgmRsrc2>(all.subspan(13), "rsrc2.", &line);
  if (generation == Generation::Gfx9)
    describe_fields<ComputePgmRsrc3Gfx9>(all.subspan(11), "rsrc3.", &line);
  else if (generation == Generation::Gfx12)
    describe_fields<ComputePgmRsrc3Gfx12>(all.subspan(11), "rsrc3.", &line);
  else
    describe_fields<ComputePgmRsrc3Gfx10>(all.subspan(11), "rsrc3.", &line);
  // A symbol that covers another comes before it.
  const auto rank = [](const PacketField& field) {
    const usize dot = field.name.find('.');
    return field.name.substr(0, dot);
  };
  std::vector<PacketField> ordered;
  for (const PacketField& field : line.fields) {
    if (field.name.find('.') != std::string::npos) continue;
    ordered.push_back(field);
    for (const PacketField& part : line.fields)
      if (part.name != field.name && rank(part) == field.name) ordered.push_back(part);
  }
  line.fields = std::move(ordered);
  fmt::print("{}\n", to_text(line));
}

void print_amd(const elf::ElfFile& file, std::span<const u8> bytes, const Options& options) {
  std::string chip = options.chip;
  if (chip.empty()) chip = chip_of_elf_flags(file.flags());
  const std::optional<Generation> generation = generation_of(chip);
  if (!generation)
    throw fail(ErrorKind::Unsupported, "{}: for chip number {:#x}; name it with --gpu",
               options.file, file.flags() & 0xff);
  fmt::print("# {}\n", chip);
  for (const elf::Symbol& symbol : symbols_of(file)) {
    if (!symbol.name.ends_with(kDescriptorSuffix)) continue;
    const std::span<const u8> descriptor = bytes_of(file, symbol);
    if (descriptor.size() == kKernelDescriptorBytes)
      print_descriptor(symbol, descriptor, *generation);
  }
  const auto compiler =
      codegen::make_llvm_compiler({codegen::LlvmTarget::Family::Amd, std::move(chip)});
  fmt::print("{}", or_throw(compiler->disassemble(bytes)));
}

int run(const Options& options) {
  const std::vector<u8> bytes = or_throw(os::read_file(os::host_files(), options.file));
  const elf::ElfFile file = or_throw(elf::ElfFile::parse(bytes));
  if (file.machine() == kElfMachine) {
    print_amd(file, bytes, options);
    return 0;
  }
  if (!options.chip.empty())
    throw fail(ErrorKind::Invalid, "--gpu {}: {} is for machine {}, not for AMD's GPUs (224)",
               options.chip, options.file, file.machine());
  fmt::print("{}", or_throw(codegen::make_llvm_compiler()->disassemble(bytes)));
  return 0;
}

}  // namespace

void add_disasm(CLI::App* app, int* status) {
  CLI::App* command =
      app->add_subcommand("disasm", "Print the kernels and the code of an object or code object");
  auto options = std::make_shared<Options>();  // owned by the parser and the callback
  command->add_option("file", options->file, "An ELF file")->required();
  command->add_option("--gpu", options->chip, "The chip, where the file does not say it");
  command->callback([options, status] { *status = run(*options); });
}

}  // namespace doorbell::tools
