// Options as values, and what those mean that only PyTorch has.
#include "tensor/nn/optim_state.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace doorbell::nn {

namespace {

template <class... T>
struct Overload : T... {
  using T::operator()...;
};
template <class... T>
Overload(T...) -> Overload<T...>;

// Whole numbers are numbers too.
bool read_real(const OptionValue& given, f64* real) {
  if (const f64* value = std::get_if<f64>(&given)) return *real = *value, true;
  if (const i64* value = std::get_if<i64>(&given)) return *real = static_cast<f64>(*value), true;
  return false;
}

bool asks_for_nothing(const OptionValue& value) {
  f64 real = 1;
  if (read_real(value, &real)) return real == 0;
  const bool* flag = std::get_if<bool>(&value);
  return std::holds_alternative<std::monostate>(value) || (flag != nullptr && !*flag);
}

}  // namespace

std::string to_string(const OptionValue& value) {
  return std::visit(Overload{[](std::monostate) { return std::string("none"); },
                             [](bool flag) { return std::string(flag ? "true" : "false"); },
                             [](i64 number) { return fmt::format("{}", number); },
                             [](f64 number) { return fmt::format("{}", number); },
                             [](const std::vector<f64>& numbers) {
                               return fmt::format("({})", fmt::join(numbers, ", "));
                             },
                             [](const std::string& text) { return text; }},
                    value);
}

OptionValue OptionField::value() const {
  return std::visit(Overload{[](const std::array<f64, 2>* pair) {
                               return OptionValue(std::vector<f64>(pair->begin(), pair->end()));
                             },
                             [](const auto* place) { return OptionValue(*place); }},
                    place);
}

void OptionField::set(const OptionValue& given) const {
  if (is_fixed) {
    if (given == value()) return;
    throw fail(ErrorKind::Invalid, "option {} is {}, expected {}: it is of another optimiser", name,
               to_string(given), to_string(value()));
  }
  const auto* list = std::get_if<std::vector<f64>>(&given);
  const bool fits = std::visit(
      Overload{[&](bool* place) {
                 const bool* flag = std::get_if<bool>(&given);
                 return flag != nullptr && (*place = *flag, true);
               },
               [&](i64* place) {
                 const i64* number = std::get_if<i64>(&given);
                 return number != nullptr && (*place = *number, true);
               },
               [&](f64* place) { return read_real(given, place); },
               [&](std::array<f64, 2>* place) {
                 if (list == nullptr || list->size() != place->size()) return false;
                 std::copy(list->begin(), list->end(), place->begin());
                 return true;
               },
               [&](std::vector<f64>* place) { return list != nullptr && (*place = *list, true); }},
      place);
  if (!fits)
    throw fail(ErrorKind::Invalid, "option {} is {}, expected a value like {}", name,
               to_string(given), to_string(value()));
}

void check_foreign_option(std::string_view optimizer, std::string_view name,
                          const OptionValue& value) {
  // `initial_lr` is left by schedules, which have their own.
  static constexpr std::string_view kHow[] = {"foreach", "fused", "capturable", "differentiable",
                                              "initial_lr"};
  if (std::find(std::begin(kHow), std::end(kHow), name) != std::end(kHow)) return;
  if (asks_for_nothing(value)) return;
  if (name == "adjust_lr_fn" && value == OptionValue("original")) return;
  throw fail(ErrorKind::Unsupported, "{} has no option {}, which is {} here", optimizer, name,
             to_string(value));
}

}  // namespace doorbell::nn
