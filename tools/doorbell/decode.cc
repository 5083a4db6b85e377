// `doorbell decode`: prints a captured stream of packets by name and field. Reads the files;
// drivers/amd/hw/stream decodes the words.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/util/error.h"
#include "drivers/amd/hw/stream/stream.h"
#include "tools/doorbell/commands.h"

namespace doorbell::tools {
namespace {

using namespace amd::hw;

struct Options {
  std::string kind, file, chip = "gfx1100";
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

std::vector<u32> words_of(const std::string& file, bool hex) {
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
  words.resize(bytes.size() / sizeof(u32));
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
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
  region.words = words_of(argument.substr(0, at), hex);
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

StreamKind kind_of(const std::string& name) {
  if (name == "pm4") return StreamKind::Pm4;
  return name == "sdma" ? StreamKind::Sdma : StreamKind::Aql;
}

int run(const Options& options) {
  const std::optional<Generation> generation = generation_of(options.chip);
  if (!generation)
    throw fail(ErrorKind::Invalid,
               "--gfx {}: expected a chip such as gfx942, gfx1030, gfx1100, gfx1201", options.chip);
  const std::vector<u32> words = words_of(options.file, options.hex);
  std::vector<Region> regions;
  for (const std::string& argument : options.memory)
    regions.push_back(region_of(argument, options.hex));
  bool sound = true;
  walk_stream(kind_of(options.kind), *generation, words, reader_of(std::move(regions)),
              [&](const StreamPacket& packet, int depth) {
                sound = sound && packet.problem.empty();
                if (options.json) {
                  std::string line = to_json(packet);
                  line.insert(line.size() - 1, fmt::format(R"(,"depth":{})", depth));
                  fmt::print("{}\n", line);
                } else {
                  fmt::print("{:6}  {:{}}{}\n", packet.at, "", depth * 2, to_text(packet));
                }
              });
  return sound ? 0 : 2;
}

}  // namespace

void add_decode(CLI::App* app, int* status) {
  CLI::App* command = app->add_subcommand(
      "decode", "Print a captured stream of packets; exits with 2 when a packet cannot be right");
  auto options = std::make_shared<Options>();  // owned by the parser and the callback
  command->add_option("kind", options->kind, "What the stream holds")
      ->required()
      ->check(CLI::IsMember({"pm4", "sdma", "aql"}));
  command->add_option("file", options->file, "Little-endian words; - for standard input")
      ->required();
  command->add_option("--gfx", options->chip, "The chip, e.g. gfx942")->capture_default_str();
  command->add_option("--memory", options->memory,
                      "FILE@ADDRESS: memory in which indirect buffers lie, followed from there");
  command->add_flag("--hex", options->hex, "Files hold words in hex, apart by space");
  command->add_flag("--json", options->json, "Print a JSON object for each packet");
  command->callback([options, status] { *status = run(*options); });
}

}  // namespace doorbell::tools
