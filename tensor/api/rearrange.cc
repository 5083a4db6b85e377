// Tensor::rearrange: einops' notation for splitting, reordering and joining axes, as a reshape, a
// permute and a reshape. Reducing and repeating are other methods.
#include <algorithm>
#include <cctype>
#include <string>

#include "tensor/api/axes.h"

namespace doorbell {

namespace {

using Names = std::vector<std::string>;
// One axis of a side: the names that its bracket joins, or the one name. "1" has no names.
struct Group {
  Names names;
  bool is_bracket = false;
};
constexpr std::string_view kEllipsis = "...";

[[noreturn]] void refuse(std::string_view formula, std::string_view why) {
  throw fail(ErrorKind::Invalid, "rearrange \"{}\": {}", formula, why);
}

std::string_view next_word(std::string_view formula, std::string_view& text) {
  if (text.starts_with(kEllipsis)) {
    text.remove_prefix(kEllipsis.size());
    return kEllipsis;
  }
  usize length = 0;
  while (length < text.size() &&
         (std::isalnum(static_cast<unsigned char>(text[length])) != 0 || text[length] == '_')) {
    ++length;
  }
  if (length == 0) refuse(formula, "'" + std::string(text.substr(0, 1)) + "' is no name");
  const std::string_view word = text.substr(0, length);
  text.remove_prefix(length);
  return word;
}

std::vector<Group> parse_side(std::string_view formula, std::string_view text) {
  std::vector<Group> groups;
  bool inside = false;
  while (!text.empty()) {
    const char c = text.front();
    if (c == ' ') {
      text.remove_prefix(1);
    } else if (c == '(' || c == ')') {
      if (inside == (c == '(')) refuse(formula, "brackets do not match");
      inside = c == '(';
      if (inside) groups.push_back({.is_bracket = true});
      text.remove_prefix(1);
    } else {
      const std::string word(next_word(formula, text));
      if (!inside) groups.emplace_back();
      if (word != "1") groups.back().names.push_back(word);
    }
  }
  if (inside) refuse(formula, "brackets do not match");
  return groups;
}

// "..." replaced by a name per axis that it stands for: axes of their own where it stood alone.
std::vector<Group> without_ellipsis(const std::vector<Group>& groups, i64 count) {
  std::vector<Group> result;
  for (const Group& group : groups) {
    Group whole{.is_bracket = group.is_bracket};
    for (const std::string& name : group.names) {
      if (name != kEllipsis) whole.names.push_back(name);
      for (i64 i = 0; name == kEllipsis && i < count; ++i) {
        const std::string axis = std::string(kEllipsis) + std::to_string(i);
        if (group.is_bracket) {
          whole.names.push_back(axis);
        } else {
          result.push_back({{axis}});
        }
      }
    }
    const bool stood_alone = !group.is_bracket && group.names == Names{std::string(kEllipsis)};
    if (!stood_alone) result.push_back(std::move(whole));
  }
  return result;
}

Names flat(const std::vector<Group>& groups) {
  Names names;
  for (const Group& group : groups) {
    names.insert(names.end(), group.names.begin(), group.names.end());
  }
  return names;
}

// The sizes of the names of one axis of x; at most one of them is not given.
void add_sizes(std::string_view formula, const Names& group, const Size& whole,
               const AxisSizes& given, Shape& sizes) {
  Shape inner;
  for (const std::string& name : group) {
    const auto known = std::find_if(given.begin(), given.end(),
                                    [&](const auto& entry) { return entry.first == name; });
    inner.push_back(known == given.end() ? -1 : known->second);
  }
  const i64 open = std::count_if(inner.begin(), inner.end(), [](auto& s) { return s.is(-1); });
  if (open > 1) refuse(formula, "more than one size of a bracket is left open");
  if (group.empty() && !whole.is(1)) refuse(formula, "an axis of " + whole.str() + " is named 1");
  if (inner.size() == 1 && open == 1) {
    sizes.push_back(whole);
    return;
  }
  Size known = 1;
  for (const Size& size : inner) {
    if (!size.is(-1)) known = known * size;
  }
  const bool divides = open == 1 ? !known.is(0) && (whole % known).is(0) : known == whole;
  if (!divides) refuse(formula, "sizes of " + inner.str() + " for an axis of " + whole.str());
  for (const Size& size : inner) sizes.push_back(size.is(-1) ? whole / known : size);
}

}  // namespace

Tensor Tensor::rearrange(std::string_view formula, const AxisSizes& sizes) const {
  const usize arrow = formula.find("->");
  if (arrow == formula.npos) refuse(formula, "no ->");
  std::vector<Group> from = parse_side(formula, formula.substr(0, arrow));
  std::vector<Group> to = parse_side(formula, formula.substr(arrow + 2));
  const Names names = flat(from);
  const i64 ellipses = std::count(names.begin(), names.end(), kEllipsis);
  const i64 named = static_cast<i64>(from.size()) - ellipses;
  if (ellipses > 1 || (ellipses == 0 ? named != ndim() : named > ndim())) {
    refuse(formula, std::to_string(named) + " axes for shape " + shape().str());
  }
  from = without_ellipsis(from, ndim() - named);
  to = without_ellipsis(to, ndim() - named);
  const Names source = flat(from), target = flat(to);
  Names left = source, right = target;
  std::sort(left.begin(), left.end());
  std::sort(right.begin(), right.end());
  if (left != right || std::adjacent_find(left.begin(), left.end()) != left.end()) {
    refuse(formula, "the sides must name the same axes, each once");
  }
  for (const auto& [name, size] : sizes) {
    if (!std::binary_search(left.begin(), left.end(), name)) refuse(formula, "no axis " + name);
  }
  Shape apart, joined;
  for (usize i = 0; i < from.size(); ++i) {
    add_sizes(formula, from[i].names, size(static_cast<i64>(i)), sizes, apart);
  }
  const auto place = [&](const std::string& name) {
    return std::find(source.begin(), source.end(), name) - source.begin();
  };
  std::vector<i64> order;
  for (const std::string& name : target) order.push_back(place(name));
  for (const Group& group : to) {
    Size size = 1;
    for (const std::string& name : group.names)
      size = size * apart[static_cast<usize>(place(name))];
    joined.push_back(size);
  }
  return reshape(apart).permute(order).reshape(joined);
}

Tensor Tensor::movedim(const std::vector<i64>& axes, const std::vector<i64>& places) const {
  if (axes.size() != places.size()) {
    throw fail(ErrorKind::Invalid, "{} axes moved to {} places", axes.size(), places.size());
  }
  const usize rank = static_cast<usize>(ndim());
  std::vector<i64> order(rank, -1);
  std::vector<bool> moves(rank, false);
  for (usize i = 0; i < axes.size(); ++i) {
    const usize from = static_cast<usize>(detail::resolve_axis(axes[i], ndim()));
    const usize to = static_cast<usize>(detail::resolve_axis(places[i], ndim()));
    if (moves[from] || order[to] != -1) {
      throw fail(ErrorKind::Invalid, "axis {} to place {}: one of them is named twice", axes[i],
                 places[i]);
    }
    moves[from] = true;
    order[to] = static_cast<i64>(from);
  }
  usize next = 0;
  for (i64& axis : order) {
    if (axis != -1) continue;
    while (moves[next]) ++next;
    axis = static_cast<i64>(next++);
  }
  return permute(order);
}

}  // namespace doorbell
