// Einstein sums: every operand gets an axis for every letter; operands are multiplied from left to
// right, and a letter is summed as soon as nothing further names it.
#include <algorithm>
#include <array>
#include <cctype>

#include "tensor/api/tensor.h"

namespace doorbell {

namespace {

// Axes are named by letters, those that "..." stands for by the characters from 1 on.
constexpr char kEllipsis = '.';

struct Formula {
  std::vector<std::string> inputs;
  std::string output;
  bool has_output = false;
};

[[noreturn]] void refuse(std::string_view text, const char* why) {
  throw fail(ErrorKind::Invalid, "einsum \"{}\": {}", text, why);
}

Formula parse(std::string_view text) {
  Formula formula{.inputs = {""}};
  for (usize i = 0; i < text.size(); ++i) {
    const char c = text[i];
    std::string& axes = formula.has_output ? formula.output : formula.inputs.back();
    if (c == ' ') continue;
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      axes += c;
    } else if (text.substr(i, 3) == "...") {
      if (axes.find(kEllipsis) != std::string::npos) refuse(text, "... stands twice");
      axes += kEllipsis;
      i += 2;
    } else if (c == ',' && !formula.has_output) {
      formula.inputs.emplace_back();
    } else if (text.substr(i, 2) == "->" && !formula.has_output) {
      formula.has_output = true;
      ++i;
    } else {
      refuse(text, "expected letters, commas, ... and one ->");
    }
  }
  return formula;
}

// Replaces "..." by `count` characters, aligned at the last one.
void spell_out(std::string& axes, i64 count, i64 most) {
  const usize place = axes.find(kEllipsis);
  if (place == std::string::npos) return;
  std::string names;
  for (i64 i = most - count; i < most; ++i) names += static_cast<char>(1 + i);
  axes.replace(place, 1, names);
}

// Names every axis of every operand, and those of the result.
void resolve(Formula& formula, std::string_view text, std::span<const Tensor> operands) {
  std::vector<i64> counts;
  for (usize i = 0; i < operands.size(); ++i) {
    const std::string& axes = formula.inputs[i];
    const bool open = axes.find(kEllipsis) != std::string::npos;
    const i64 rest = operands[i].ndim() - static_cast<i64>(axes.size()) + (open ? 1 : 0);
    if (rest < 0 || (!open && rest > 0)) {
      throw fail(ErrorKind::Invalid, "einsum \"{}\": \"{}\" names an operand of shape {}", text,
                 axes, operands[i].shape().str());
    }
    counts.push_back(rest);
  }
  const i64 most = *std::max_element(counts.begin(), counts.end());
  for (usize i = 0; i < operands.size(); ++i) spell_out(formula.inputs[i], counts[i], most);
  if (formula.has_output) return spell_out(formula.output, most, most);
  // Without an arrow: the axes of "...", then the letters that stand once, in order.
  std::array<int, 128> count{};
  for (const std::string& input : formula.inputs) {
    for (const char c : input) ++count[static_cast<usize>(c)];
  }
  for (int c = 1; c < 128; ++c) {
    const int times = count[static_cast<usize>(c)];
    if (c <= most || times == 1) formula.output += static_cast<char>(c);
  }
}

// Operands agree on the size of each axis; a size of 1 spreads.
void check_sizes(const Formula& formula, std::string_view text, std::span<const Tensor> operands) {
  std::array<Size, 128> sizes;
  sizes.fill(1);
  for (usize i = 0; i < operands.size(); ++i) {
    const std::string& letters = formula.inputs[i];
    for (usize axis = 0; axis < letters.size(); ++axis) {
      Size& size = sizes[static_cast<usize>(letters[axis])];
      const Size here = operands[i].size(static_cast<i64>(axis));
      if (here.is(1)) continue;
      if (!size.is(1) && !(size == here)) {
        throw fail(ErrorKind::Invalid, "einsum \"{}\": axis {} has sizes {} and {}", text,
                   letters[axis] < 'A' ? std::string("...") : std::string(1, letters[axis]),
                   size.str(), here.str());
      }
      size = here;
    }
  }
  for (usize k = 0; k < formula.output.size(); ++k) {
    const bool known = std::any_of(formula.inputs.begin(), formula.inputs.end(), [&](auto& input) {
      return input.find(formula.output[k]) != std::string::npos;
    });
    if (!known || formula.output.find(formula.output[k], k + 1) != std::string::npos) {
      refuse(text, "the result names an axis that no operand has, or one twice");
    }
  }
}

// A product on its way: one axis per distinct letter.
struct Term {
  Tensor value;
  std::string letters;
};

// A letter that stands twice takes the diagonal.
Term without_repeats(Tensor x, std::string letters) {
  for (usize i = 0; i < letters.size(); ++i) {
    const usize again = letters.find(letters[i], i + 1);
    if (again == std::string::npos) continue;
    std::vector<i64> order;
    for (usize axis = 0; axis < letters.size(); ++axis) {
      if (axis != i && axis != again) order.push_back(static_cast<i64>(axis));
    }
    order.push_back(static_cast<i64>(i));
    order.push_back(static_cast<i64>(again));
    x = x.permute(order).diagonal(0, -2, -1);
    const char letter = letters[i];
    letters.erase(again, 1);
    letters.erase(i, 1);
    letters += letter;
    i = static_cast<usize>(-1);  // from the start: the letters have moved
  }
  return {x, letters};
}

// The axes of `term` laid out as `letters`, which include its own.
Tensor aligned(const Term& term, const std::string& letters) {
  Shape shape;
  std::vector<i64> order;
  for (const char letter : letters) {
    const usize place = term.letters.find(letter);
    if (place != std::string::npos) order.push_back(static_cast<i64>(place));
    shape.push_back(place == std::string::npos ? Size(1)
                                               : term.value.size(static_cast<i64>(place)));
  }
  return term.value.permute(order).reshape(shape);
}

// Sums the axes that neither `kept` nor a later operand names; those of `kept` come first, in its
// order.
Term summed(const Term& term, const std::string& kept, std::span<const std::string> later) {
  std::string letters, gone;
  const auto has = [](const std::string& text, char c) { return text.find(c) != text.npos; };
  for (const char letter : kept) {
    if (has(term.letters, letter)) letters += letter;
  }
  for (const char letter : term.letters) {
    if (has(kept, letter)) continue;
    const bool wanted =
        std::any_of(later.begin(), later.end(), [&](auto& input) { return has(input, letter); });
    (wanted ? letters : gone) += letter;
  }
  Tensor value = aligned(term, letters + gone);
  if (gone.empty()) return {value, letters};
  std::vector<i64> axes;
  for (usize i = letters.size(); i < letters.size() + gone.size(); ++i)
    axes.push_back(static_cast<i64>(i));
  return {value.sum(axes).cast(value.dtype()), letters};
}

}  // namespace

Tensor Tensor::einsum(std::string_view text, std::span<const Tensor> operands) {
  Formula formula = parse(text);
  if (formula.inputs.size() != operands.size()) {
    throw fail(ErrorKind::Invalid, "einsum \"{}\" of {} operands", text, operands.size());
  }
  resolve(formula, text, operands);
  check_sizes(formula, text, operands);
  Term product;
  for (usize i = 0; i < operands.size(); ++i) {
    Term next = without_repeats(operands[i], formula.inputs[i]);
    if (i > 0) {
      std::string letters = product.letters;
      for (const char letter : next.letters) {
        if (letters.find(letter) == std::string::npos) letters += letter;
      }
      next = {aligned(product, letters) * aligned(next, letters), letters};
    }
    product = summed(next, formula.output, std::span(formula.inputs).subspan(i + 1));
  }
  return aligned(product, formula.output);
}

}  // namespace doorbell
