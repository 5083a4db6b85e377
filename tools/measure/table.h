// The one table that a benchmark prints, as text or as JSON. For measuring see measure.h; the
// benchmark says in a note what bounds each figure.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/util/types.h"

namespace doorbell::tools {

// Nothing ("-"), words, or a number, which is shown with three significant digits and kept whole in
// JSON.
using Cell = std::variant<std::monostate, std::string, f64>;

struct Table {
  std::string title;
  std::vector<std::string> facts;    // machine, device, threads: above the table
  std::vector<std::string> columns;  // the first is words, left aligned
  std::vector<std::vector<Cell>> rows;
  std::vector<std::string> notes;  // below it

  void print() const;
  void print_json() const;
};

// "812", "81.2", "0.0812", "1,234,567".
std::string figure(f64 value);

}  // namespace doorbell::tools
