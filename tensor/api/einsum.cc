// Einstein sums: every operand gets an axis for every letter, one product, one sum.
#include <algorithm>
#include <array>
#include <cctype>

#include "tensor/api/build.h"

namespace doorbell {

namespace {

struct Formula {
  std::vector<std::string> inputs;
  std::string output;
};

[[noreturn]] void refuse(std::string_view text, const char* why) {
  throw fail(ErrorKind::Invalid, "einsum \"{}\": {}", text, why);
}

Formula parse(std::string_view text) {
  Formula formula{.inputs = {""}};
  bool in_output = false;
  for (usize i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ' ') continue;
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      (in_output ? formula.output : formula.inputs.back()) += c;
    } else if (c == ',' && !in_output) {
      formula.inputs.emplace_back();
    } else if (c == '-' && i + 1 < text.size() && text[i + 1] == '>' && !in_output) {
      in_output = true;
      ++i;
    } else {
      refuse(text, "expected letters, commas and one ->");
    }
  }
  if (in_output) return formula;
  // Without an arrow: the letters that stand once, in the order of the alphabet.
  std::array<int, 256> count{};
  for (const std::string& input : formula.inputs) {
    for (const char c : input) ++count[static_cast<unsigned char>(c)];
  }
  for (int c = 0; c < 256; ++c) {
    if (count[static_cast<usize>(c)] == 1) formula.output += static_cast<char>(c);
  }
  return formula;
}

// x with one axis per distinct letter: a letter that stands twice takes the diagonal.
Tensor without_repeats(Tensor x, std::string& letters) {
  for (usize i = 0; i < letters.size(); ++i) {
    const usize again = letters.find(letters[i], i + 1);
    if (again == std::string::npos) continue;
    std::vector<i64> order;
    for (usize axis = 0; axis < letters.size(); ++axis) {
      if (axis != i && axis != again) order.push_back(static_cast<i64>(axis));
    }
    order.push_back(static_cast<i64>(i));
    order.push_back(static_cast<i64>(again));
    x = x.permute(order).diagonal();
    const char letter = letters[i];
    letters.erase(again, 1);
    letters.erase(i, 1);
    letters += letter;
    i = static_cast<usize>(-1);  // from the start: the letters have moved
  }
  return x;
}

}  // namespace

Tensor Tensor::einsum(std::string_view text, std::initializer_list<Tensor> operands) {
  Formula formula = parse(text);
  if (formula.inputs.size() != operands.size()) {
    throw fail(ErrorKind::Invalid, "einsum \"{}\" of {} operands", text, operands.size());
  }
  std::string all = formula.output;  // letters of the result first, those summed behind
  std::array<Size, 256> sizes;
  usize i = 0;
  for (const Tensor& operand : operands) {
    const std::string& letters = formula.inputs[i++];
    if (letters.size() != static_cast<usize>(operand.ndim())) {
      throw fail(ErrorKind::Invalid, "einsum \"{}\": \"{}\" names an operand of shape {}", text,
                 letters, operand.shape().str());
    }
    for (usize axis = 0; axis < letters.size(); ++axis) {
      Size& size = sizes[static_cast<unsigned char>(letters[axis])];
      const Size here = operand.size(static_cast<i64>(axis));
      if (!size.is(0) && !(size == here)) {
        throw fail(ErrorKind::Invalid, "einsum \"{}\": axis {} has sizes {} and {}", text,
                   letters[axis], size.str(), here.str());
      }
      size = here;
      if (all.find(letters[axis]) == std::string::npos) all += letters[axis];
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
  Tensor product;
  i = 0;
  for (const Tensor& operand : operands) {
    std::string letters = formula.inputs[i++];
    const Tensor x = without_repeats(operand, letters);
    Shape shape;
    std::vector<i64> order;
    for (const char letter : all) {
      const usize place = letters.find(letter);
      if (place != std::string::npos) order.push_back(static_cast<i64>(place));
      shape.push_back(place == std::string::npos ? Size(1) : x.size(static_cast<i64>(place)));
    }
    const Tensor aligned = x.permute(order).reshape(shape);
    product = product.defined() ? product * aligned : aligned;
  }
  std::vector<i64> summed;
  for (usize axis = formula.output.size(); axis < all.size(); ++axis) {
    summed.push_back(static_cast<i64>(axis));
  }
  return summed.empty() ? product : product.sum(summed, {.dtype = {}}).cast(product.dtype());
}

}  // namespace doorbell
