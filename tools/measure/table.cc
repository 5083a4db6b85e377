// Layout of a table in columns as wide as their widest cell.
#include "tools/measure/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace doorbell::tools {
namespace {

std::string text_of(const Cell& cell) {
  if (const auto* words = std::get_if<std::string>(&cell)) return *words;
  if (const auto* number = std::get_if<f64>(&cell)) return figure(*number);
  return "-";
}

std::string with_commas(i64 value) {
  std::string digits = std::to_string(std::abs(value)), text;
  for (usize i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return (value < 0 ? "-" : "") + text;
}

nlohmann::json json_of(const Cell& cell) {
  if (const auto* words = std::get_if<std::string>(&cell)) return *words;
  if (const auto* number = std::get_if<f64>(&cell)) return *number;
  return nullptr;
}

}  // namespace

std::string figure(f64 value) {
  if (!std::isfinite(value)) return "-";
  const f64 size = std::abs(value);
  if (size >= 99.95 || value == std::floor(value)) return with_commas(std::llround(value));
  const int decimals = size == 0 ? 0 : 2 - static_cast<int>(std::floor(std::log10(size)));
  return fmt::format("{:.{}f}", value, std::clamp(decimals, 1, 9));
}

void Table::print() const {
  std::vector<usize> widths;
  for (usize column = 0; column < columns.size(); ++column) {
    usize width = columns[column].size();
    for (const std::vector<Cell>& row : rows)
      if (column < row.size()) width = std::max(width, text_of(row[column]).size());
    widths.push_back(width);
  }
  fmt::print("{}\n", title);
  for (const std::string& fact : facts) fmt::print("  {}\n", fact);
  fmt::print("\n");
  const auto line = [&](const auto& cell_text) {
    std::string text;
    for (usize column = 0; column < columns.size(); ++column) {
      const std::string cell = cell_text(column);
      if (column == 0)
        text += fmt::format("{:<{}}", cell, widths[column]);
      else
        text += fmt::format("  {:>{}}", cell, widths[column]);
    }
    fmt::print("{}\n", text);
  };
  line([&](usize column) { return columns[column]; });
  line([&](usize column) { return std::string(widths[column], '-'); });
  for (const std::vector<Cell>& row : rows)
    line([&](usize column) { return column < row.size() ? text_of(row[column]) : std::string(); });
  if (!notes.empty()) fmt::print("\n");
  for (const std::string& note : notes) fmt::print("{}\n", note);
  std::fflush(stdout);
}

void Table::print_json() const {
  nlohmann::json list = nlohmann::json::array();
  for (const std::vector<Cell>& row : rows) {
    nlohmann::json object = nlohmann::json::object();
    for (usize column = 0; column < row.size(); ++column)
      object[columns[column]] = json_of(row[column]);
    list.push_back(std::move(object));
  }
  const nlohmann::json table{{"title", title}, {"facts", facts}, {"rows", list}, {"notes", notes}};
  fmt::print("{}\n", table.dump(2));
}

}  // namespace doorbell::tools
