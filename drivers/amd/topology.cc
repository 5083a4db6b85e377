// Reading the topology. The kernel is trusted to be there, its text is not.
#include "drivers/amd/topology.h"

#include <algorithm>
#include <charconv>

#include "base/util/log.h"
#include "base/util/try.h"

namespace doorbell::amd {
namespace {

std::string_view trimmed(std::string_view text) {
  const usize first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

Result<u64> parse_number(std::string_view name, std::string_view text) {
  u64 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return fail(ErrorKind::Corrupt, "topology property {} is '{}', expected a number", name, text);
  return value;
}

Result<u64> read_number(os::Files& files, const std::string& path) {
  TRY(const std::string text, os::read_text(files, path));
  return parse_number(path, trimmed(text));
}

// What later arithmetic divides by or multiplies up.
Result<void> check(const NodeProperties& properties) {
  struct Count {
    const char* name;
    u64 value;
  };
  const Count counts[] = {
      {"simd_count", properties.simd_count},
      {"simd_per_cu", properties.simd_per_cu},
      {"max_waves_per_simd", properties.max_waves_per_simd},
      {"array_count", properties.array_count},
      {"simd_arrays_per_engine", properties.simd_arrays_per_engine},
      {"num_xcc", properties.num_xcc},
  };
  constexpr u64 kMax = 1 << 16;
  for (const Count& count : counts)
    if (count.value < 1 || count.value > kMax)
      return fail(ErrorKind::Corrupt, "topology property {} is {}, expected 1 to {}", count.name,
                  count.value, kMax);
  if (properties.compute_units() == 0 || properties.shader_engines() == 0)
    return fail(ErrorKind::Corrupt, "topology with {} SIMDs, {} in a unit, on {} XCCs",
                properties.simd_count, properties.simd_per_cu, properties.num_xcc);
  return {};
}

Result<Node> read_node(os::Files& files, const std::string& folder, u32 number, u64 gpu_id) {
  Node node;
  node.number = number;
  node.gpu_id = static_cast<u32>(gpu_id);
  // Old kernels have no name.
  if (Result<std::string> name = os::read_text(files, folder + "/name")) node.name = trimmed(*name);
  TRY(const std::string text, os::read_text(files, folder + "/properties"));
  Result<NodeProperties> parsed = parse_properties(text);
  if (!parsed)
    return fail(parsed.error().kind, "{}/properties: {}", folder, parsed.error().message);
  node.properties = *parsed;
  return node;
}

}  // namespace

Result<NodeProperties> parse_properties(std::string_view text) {
  NodeProperties properties;
  properties.num_xcc = 1;
  while (!text.empty()) {
    const usize end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    const usize space = line.find(' ');
    const std::string_view name = line.substr(0, space);
    u64* field = nullptr;
    NodeProperties::fields(properties, [&](const char* known, u64& value) {
      if (name == known) field = &value;
    });
    if (field == nullptr) continue;
    const std::string_view value =
        space == std::string_view::npos ? std::string_view() : trimmed(line.substr(space));
    TRY(*field, parse_number(name, value));
  }
  TRY(check(properties));
  return properties;
}

Result<std::vector<Node>> read_topology(os::Files& files) {
  TRY(const std::vector<std::string> names, files.list(std::string(hw::kTopologyNodes)));
  std::vector<Node> nodes;
  for (const std::string& name : names) {
    Result<u64> number = parse_number("node", name);
    if (!number || *number > UINT32_MAX) continue;
    const std::string folder = std::string(hw::kTopologyNodes) + "/" + name;
    // A GPU that a container may not use refuses its gpu_id; processors have 0.
    Result<u64> gpu_id = read_number(files, folder + "/gpu_id");
    if (!gpu_id || *gpu_id == 0 || *gpu_id > UINT32_MAX) continue;
    Result<Node> node = read_node(files, folder, static_cast<u32>(*number), *gpu_id);
    if (node)
      nodes.push_back(std::move(*node));
    else
      log().warn("a GPU is passed over: {}", node.error().message);
  }
  std::sort(nodes.begin(), nodes.end(),
            [](const Node& a, const Node& b) { return a.number < b.number; });
  return nodes;
}

}  // namespace doorbell::amd
