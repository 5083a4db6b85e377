// `doorbell decode`: prints a captured stream of packets by name and field. Reads the files;
// drivers/*/hw/stream decodes the words.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/util/error.h"
#include "base/util/named.h"
#include "base/util/words.h"
#include "drivers/amd/hw/stream/stream.h"
#include "drivers/nv/hw/stream/stream.h"
#include "tools/doorbell/commands.h"

namespace doorbell::tools {
namespace {

struct Options {
  std::string kind, file, gpu;
  std::vector<std::string> memory;  // FILE@ADDRESS
  bool hex = false, json = false;
};

// Reads to the end; also from pipes, which os::read_file cannot read because they have no offsets.
std::string read_all(const std::string& file) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(
      file == "-" ? stdin : std::fopen(file.c_str(), "rb"), std::fclose);
  std::string bytes;
  while (stream) {
    char part[4096];
    const usize got = std::fread(part, 1, sizeof part, stream.get());
    bytes.append(part, got);
    if (std::ferror(stream.get())) break;
    if (got == 0) return bytes;
  }
  throw fail_errno(errno, "read {}", file);
}

std::vector<u32> read_words(const std::string& file, bool hex) {
  const std::string bytes = read_all(file);
  std::vector<u32> words;
  if (hex) {
    std::istringstream text(bytes);
    for (std::string one; text >> one;) {
      usize used = 0;
      unsigned long value = 0;
      try {
        value = std::stoul(one, &used, 16);
      } catch (const std::exception&) {
        used = 0;
      }
      if (used != one.size() || value > ~u32{0})
        throw fail(ErrorKind::Invalid, "{}: '{}' is not a word in hex", file, one);
      words.push_back(static_cast<u32>(value));
    }
    return words;
  }
  if (bytes.size() % sizeof(u32) != 0)
    throw fail(ErrorKind::Invalid, "{} has {} bytes, not a multiple of 4; --hex for text", file,
               bytes.size());
  return words_of(std::as_bytes(std::span(bytes)));
}

// The memory in which indirect buffers may lie.
struct Region {
  u64 address = 0;
  std::vector<u32> words;
};

Region region_of(const std::string& argument, bool hex) {
  const usize at = argument.rfind('@');
  if (at == std::string::npos)
    throw fail(ErrorKind::Invalid, "--memory {}: expected FILE@ADDRESS", argument);
  Region region;
  usize used = 0;
  try {
    region.address = std::stoull(argument.substr(at + 1), &used, 0);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || used != argument.size() - at - 1)
    throw fail(ErrorKind::Invalid, "--memory {}: '{}' is not an address", argument,
               argument.substr(at + 1));
  region.words = read_words(argument.substr(0, at), hex);
  return region;
}

ReadWords reader_of(std::vector<Region> regions) {
  return [regions = std::move(regions)](u64 addr, u32 words) -> std::optional<std::vector<u32>> {
    for (const Region& region : regions) {
      if (addr < region.address || addr % sizeof(u32) != region.address % sizeof(u32)) continue;
      const u64 first = (addr - region.address) / sizeof(u32);
      if (first > region.words.size() || words > region.words.size() - first) continue;
      const auto begin = region.words.begin() + static_cast<i64>(first);
      return std::vector<u32>(begin, begin + words);
    }
    return std::nullopt;
  };
}

using Visit = std::function<void(const StreamPacket&, int depth)>;

// Kinds of streams by their names on the command line.
template <class Kind>
struct NamedKind {
  std::string_view name;
  Kind kind;
};
constexpr NamedKind<amd::hw::StreamKind> kAmdKinds[] = {{"pm4", amd::hw::StreamKind::Pm4},
                                                        {"sdma", amd::hw::StreamKind::Sdma},
                                                        {"aql", amd::hw::StreamKind::Aql}};
constexpr NamedKind<nv::hw::StreamKind> kNvKinds[] = {
    {"gpfifo", nv::hw::StreamKind::Gpfifo},
    {"pushbuffer", nv::hw::StreamKind::Pushbuffer},
    {"qmd", nv::hw::StreamKind::Qmd}};

void walk_amd(amd::hw::StreamKind kind, const std::string& gpu, std::span<const u32> words,
              const ReadWords& memory, const Visit& visit) {
  const auto generation = amd::hw::generation_of(gpu.empty() ? "gfx1100" : gpu);
  if (!generation)
    throw fail(ErrorKind::Invalid,
               "--gpu {}: expected a chip such as gfx942, gfx1030, gfx1100, gfx1201", gpu);
  amd::hw::walk_stream(kind, *generation, words, memory, visit);
}

void walk_nv(nv::hw::StreamKind kind, const std::string& gpu, std::span<const u32> words,
             const ReadWords& memory, const Visit& visit) {
  const auto* classes = nv::hw::find_classes(gpu.empty() ? "sm_90" : gpu);
  if (classes == nullptr)
    throw fail(ErrorKind::Invalid, "--gpu {}: expected one of {}", gpu,
               nv::hw::chips_with_classes());
  nv::hw::walk_stream(kind, nv::hw::usual_subchannels(*classes), words, memory, visit);
}

void walk(const Options& options, std::span<const u32> words, const ReadWords& memory,
          const Visit& visit) {
  if (const auto* amd = find_named(kAmdKinds, options.kind))
    return walk_amd(amd->kind, options.gpu, words, memory, visit);
  walk_nv(find_named(kNvKinds, options.kind)->kind, options.gpu, words, memory, visit);
}

int run(const Options& options) {
  const std::vector<u32> words = read_words(options.file, options.hex);
  std::vector<Region> regions;
  for (const std::string& argument : options.memory)
    regions.push_back(region_of(argument, options.hex));
  bool sound = true;
  walk(options, words, reader_of(std::move(regions)), [&](const StreamPacket& packet, int depth) {
    sound = sound && packet.problem.empty();
    if (options.json) {
      std::string line = to_json(packet);
      line.insert(line.size() - 1, fmt::format(R"(,"depth":{})", depth));
      fmt::print("{}\n", line);
    } else {
      fmt::print("{:6}  {}\n", packet.at, indented_text(packet, depth));
    }
  });
  return sound ? 0 : 2;
}

}  // namespace

void add_decode(CLI::App* app, int* status) {
  CLI::App* command = app->add_subcommand(
      "decode", "Print a captured stream of packets; exits with 2 when a packet cannot be right");
  auto options = std::make_shared<Options>();  // owned by the parser and the callback
  command
      ->add_option("kind", options->kind,
                   "What the stream holds: of AMD's GPUs pm4, sdma, aql; of NVIDIA's gpfifo, "
                   "pushbuffer, qmd")
      ->required()
      ->check(CLI::IsMember({"pm4", "sdma", "aql", "gpfifo", "pushbuffer", "qmd"}));
  command->add_option("file", options->file, "Little-endian words; - for standard input")
      ->required();
  command->add_option("--gpu", options->gpu,
                      "The chip, e.g. gfx942 or sm_86; without it gfx1100 or sm_90");
  command->add_option(
      "--memory", options->memory,
      "FILE@ADDRESS: memory in which indirect buffers, pushbuffers and QMDs lie, read from there");
  command->add_flag("--hex", options->hex, "Files hold words in hex, apart by space");
  command->add_flag("--json", options->json, "Print a JSON object for each packet");
  command->callback([options, status] { *status = run(*options); });
}

}  // namespace doorbell::tools
