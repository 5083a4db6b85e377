// Plans as text: for DEBUG=3, for goldens, and on disk.
#include "codegen/opt/opt.h"

#include <algorithm>
#include <charconv>

#include "base/util/format.h"

namespace doorbell::codegen {
namespace {

constexpr std::string_view kNames[] = {"VECTOR", "UPCAST",     "UNROLL", "THREAD", "TILE",
                                       "STAGE",  "LOCAL",      "GROUP",  "ROWS",   "COLUMNS",
                                       "DEPTH",  "PERSISTENT", "JOIN"};

// Takes the number at the front.
bool take_number(std::string_view& text, i64* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<usize>(end - text.data()));
  return true;
}

bool take(std::string_view& text, char wanted) {
  if (!text.starts_with(wanted)) return false;
  text.remove_prefix(1);
  return true;
}

bool take_opt(std::string_view& text, Opt* opt) {
  const std::string_view name = text.substr(0, text.find('('));
  const auto found = std::ranges::find(kNames, name);
  if (found == std::end(kNames)) return false;
  opt->op = static_cast<OptOp>(found - kNames);
  opt->amount = 1;
  text.remove_prefix(name.size());
  if (!take(text, '(')) return false;
  const bool has_axis = opt->op != OptOp::Persistent;
  opt->axis = 0;
  if (!take_number(text, has_axis ? &opt->axis : &opt->amount)) return false;
  if (has_axis && take(text, ',') && !take_number(text, &opt->amount)) return false;
  const i64 least = opt->op == OptOp::Join ? 0 : 1;  // that of a Join is another axis
  return take(text, ')') && opt->axis >= 0 && opt->axis < 64 && opt->amount >= least;
}

}  // namespace

Result<Plan> parse_plan(std::string_view text) {
  Plan plan;
  for (std::string_view left = text; !left.empty();) {
    Opt opt{};
    const bool first = plan.empty();
    if ((!first && !take(left, ' ')) || !take_opt(left, &opt))
      return fail(ErrorKind::Corrupt, "'{}' is no plan", text);
    plan.push_back(opt);
  }
  return plan;
}

std::string print(const Plan& plan) {
  std::string text;
  for (const Opt& o : plan) {
    if (!text.empty()) text += ' ';
    const std::string_view name = kNames[static_cast<usize>(o.op)];
    if (o.op == OptOp::Persistent)
      text += fmt::format("{}({})", name, o.amount);
    else if (o.op == OptOp::Stage && o.amount == 1)
      text += fmt::format("{}({})", name, o.axis);
    else
      text += fmt::format("{}({},{})", name, o.axis, o.amount);
  }
  return text;
}

}  // namespace doorbell::codegen
