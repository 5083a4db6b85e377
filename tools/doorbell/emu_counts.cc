// Lines of counts, added and printed.
#include "tools/doorbell/emu_counts.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/measure/table.h"

namespace doorbell::tools {

Result<emu::CountsByKernel> read_counts(const std::string& path) {
  emu::CountsByKernel kernels;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto object = nlohmann::json::parse(line, nullptr, false);
    if (!object.is_object() || !object.contains("kernel") || !object["kernel"].is_string())
      return fail(ErrorKind::Corrupt, "{} has the line \"{}\", which are no counts of a kernel",
                  path, line);
    emu::KernelCounts counts;
    emu::KernelCounts::fields(
        counts, [&](const char* name, u64& value) { value = object.value(name, u64{0}); });
    kernels[object["kernel"].get<std::string>()].add(counts);
  }
  return kernels;
}

void print_counts(const emu::CountsByKernel& kernels, bool as_json) {
  emu::KernelCounts sum;
  for (const auto& [kernel, counts] : kernels) sum.add(counts);
  Table table{.title = "what kernels executed", .columns = {"kernel"}};
  emu::KernelCounts::fields(sum, [&](const char* name, u64 value) {
    if (value != 0 || as_json) table.columns.push_back(name);
  });
  for (const auto& [kernel, counts] : kernels) {
    std::vector<Cell> row = {kernel};
    emu::KernelCounts::fields(counts, [&](const char* name, u64 value) {
      if (std::ranges::find(table.columns, name) != table.columns.end())
        row.emplace_back(static_cast<f64>(value));
    });
    table.rows.push_back(std::move(row));
  }
  table.notes = {
      "instructions: once for a wave or warp; bank conflicts: cycles; sectors: 32 bytes"};
  if (as_json)
    table.print_json();
  else
    table.print();
}

}  // namespace doorbell::tools
