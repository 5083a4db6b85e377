// Operations by name, with their arguments as JSON: what tests/conformance/generate.py calls in
// PyTorch, said with our API.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "tensor/api/tensor.h"

namespace doorbell::conformance {

// Fails a CHECK for a name that is not there.
std::vector<Tensor> apply_operation(std::string_view name, const nlohmann::json& arguments,
                                    const std::vector<Tensor>& inputs);

}  // namespace doorbell::conformance
