// What an optimiser remembers between steps, in the structure of PyTorch's state_dict(), and its
// options by PyTorch's names. Optimisers give and take it (optim.h); for files of it see
// tensor/io/optim_file.h.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tensor/nn/module.h"

namespace doorbell::nn {

// monostate is PyTorch's None.
using OptionValue = std::variant<std::monostate, bool, i64, f64, std::vector<f64>, std::string>;
using NamedOptions = std::vector<std::pair<std::string, OptionValue>>;

std::string to_string(const OptionValue& value);  // "0.9", "true", "(0.9, 0.999)", "none"

// An optimiser's state in the structure of PyTorch's state_dict().
struct OptimizerState {
  struct Group {
    NamedOptions options;     // "lr", "momentum", ...
    std::vector<i64> params;  // the numbers of its parameters
  };
  std::map<i64, NamedTensors> state;  // "exp_avg", ..., by the number of the parameter
  std::vector<Group> param_groups;
};

// An option where an optimiser keeps it.
struct OptionField {
  std::string_view name;
  std::variant<bool*, i64*, f64*, std::array<f64, 2>*, std::vector<f64>*> place;
  bool is_fixed = false;  // says what the class is, and cannot be set

  // What the option is set to.
  OptionValue value() const;
  // Throws for a value of another kind.
  void set(const OptionValue& given) const;
};

// Options of PyTorch's that are no field here: those that only say how it computes are passed over,
// and so are those that ask for nothing. Throws for others, by name: amsgrad, say.
void check_foreign_option(std::string_view optimizer, std::string_view name,
                          const OptionValue& value);

}  // namespace doorbell::nn
