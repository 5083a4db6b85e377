// Tables whose rows have a `name` that is text.
#pragma once

#include <algorithm>
#include <ranges>
#include <string>
#include <string_view>

namespace doorbell {

// The row of this name in an array, or null.
template <std::ranges::contiguous_range Rows>
constexpr auto* find_named(const Rows& rows, std::string_view name) {
  using Row = std::ranges::range_value_t<Rows>;
  const auto found = std::ranges::find(rows, name, &Row::name);
  return found == std::ranges::end(rows) ? nullptr : std::to_address(found);
}

// "a, b, c": for messages.
template <std::ranges::input_range Rows>
std::string names_of(const Rows& rows) {
  std::string names;
  for (const auto& row : rows) names.append(names.empty() ? "" : ", ").append(row.name);
  return names;
}

}  // namespace doorbell
