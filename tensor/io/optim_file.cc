// Between states and the two formats.
#include "tensor/io/optim_file.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "tensor/io/files.h"
#include "tensor/io/safetensors.h"
#include "tensor/io/torch_file.h"

namespace doorbell::io {

namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kGroups = "param_groups";

[[noreturn]] void refuse(const std::string& path, const std::string& what) {
  throw fail(ErrorKind::Corrupt, "{}: {}, expected the state of an optimiser", path, what);
}

Json json_of(const nn::OptionValue& value) {
  return std::visit(
      [](const auto& held) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>)
          return nullptr;
        else
          return held;
      },
      value);
}

nn::OptionValue option_of(const Json& json, const std::string& path) {
  if (json.is_null()) return std::monostate();
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<i64>();
  if (json.is_number()) return json.get<f64>();
  if (json.is_string()) return json.get<std::string>();
  std::vector<f64> numbers;
  for (const Json& item : json) {
    if (!json.is_array() || !item.is_number()) refuse(path, "an option of no known kind");
    numbers.push_back(item.get<f64>());
  }
  return numbers;
}

// "state.3.exp_avg" to 3 and "exp_avg".
std::pair<i64, std::string> parts_of(const std::string& name, const std::string& path) {
  constexpr std::string_view kState = "state.";
  const usize dot = name.find('.', kState.size());
  const std::string number =
      dot == std::string::npos ? "" : name.substr(kState.size(), dot - kState.size());
  const bool is_number = !number.empty() && number.size() < 10 &&
                         number.find_first_not_of("0123456789") == std::string::npos;
  if (!name.starts_with(kState) || !is_number) refuse(path, "a tensor named " + name);
  return {std::stoll(number), name.substr(dot + 1)};
}

nn::OptimizerState state_of_safetensors(const std::string& path, os::Files& files) {
  const Safetensors file = load_safetensors(path, {}, files);
  const auto text = file.metadata.find(kGroups);
  const Json groups =
      text == file.metadata.end() ? Json() : Json::parse(text->second, nullptr, false);
  if (!groups.is_array()) refuse(path, "no param_groups in its metadata");
  nn::OptimizerState state;
  for (const Json& given : groups) {
    nn::OptimizerState::Group group;
    if (!given.is_object()) refuse(path, "a group that is no object");
    for (const auto& [name, value] : given.items()) {
      if (name != "params") {
        group.options.emplace_back(name, option_of(value, path));
        continue;
      }
      for (const Json& number : value) {
        if (!number.is_number_integer()) refuse(path, "a parameter that is no number");
        group.params.push_back(number.get<i64>());
      }
    }
    state.param_groups.push_back(std::move(group));
  }
  for (const auto& [name, tensor] : file.tensors) {
    const auto [number, slot] = parts_of(name, path);
    state.state[number].emplace_back(slot, tensor);
  }
  return state;
}

using Kind = TorchValue::Kind;

nn::OptionValue option_of(const TorchValue& value, const std::string& path) {
  switch (value.kind) {
    case Kind::None: return std::monostate();
    case Kind::Bool: return value.integer != 0;
    case Kind::Int: return value.integer;
    case Kind::Float: return value.real;
    case Kind::Text: return value.text;
    case Kind::Tensor: break;
    default: {
      std::vector<f64> numbers;
      for (const TorchValue& item : value.items)
        numbers.push_back(item.kind == Kind::Int ? static_cast<f64>(item.integer) : item.real);
      return numbers;
    }
  }
  const TorchEntry& entry = value.tensor;  // a rate may be one
  const Tensor tensor =
      Tensor::from_bytes(std::as_bytes(std::span(entry.bytes)), entry.dtype, entry.shape);
  if (tensor.numel() != 1) refuse(path, "an option that is a tensor of several elements");
  return tensor.item<f64>();
}

nn::NamedTensors tensors_of(const TorchValue& given) {
  nn::NamedTensors tensors;
  for (usize i = 0; i + 1 < given.items.size(); i += 2) {
    const std::string& name = given.items[i].text;
    const TorchValue& value = given.items[i + 1];
    if (value.kind == Kind::Tensor) {
      const TorchEntry& entry = value.tensor;
      tensors.emplace_back(name, Tensor::from_bytes(std::as_bytes(std::span(entry.bytes)),
                                                    entry.dtype, entry.shape));
    } else if (value.kind == Kind::Int) {  // steps, before PyTorch 1.12
      tensors.emplace_back(name, Tensor::full({}, static_cast<f64>(value.integer)));
    }
  }
  return tensors;
}

nn::OptimizerState state_of_torch(const std::string& path, const std::string& key,
                                  os::Files& files) {
  const TorchValue whole = torch_load_value(path, files);
  const TorchValue* root = key.empty() ? &whole : whole.find(key);
  if (root == nullptr) refuse(path, "no " + key + " inside");
  const TorchValue *states = root->find("state"), *groups = root->find(kGroups);
  if (states == nullptr || groups == nullptr) refuse(path, "no state and param_groups inside");
  nn::OptimizerState state;
  for (usize i = 0; i + 1 < states->items.size(); i += 2) {
    if (states->items[i].kind != Kind::Int) refuse(path, "a parameter that is no number");
    state.state.emplace(states->items[i].integer, tensors_of(states->items[i + 1]));
  }
  for (const TorchValue& given : groups->items) {
    nn::OptimizerState::Group group;
    for (usize i = 0; i + 1 < given.items.size(); i += 2) {
      const std::string& name = given.items[i].text;
      const TorchValue& value = given.items[i + 1];
      if (name == "params") {
        for (const TorchValue& number : value.items) group.params.push_back(number.integer);
      } else if (name != "param_names") {
        group.options.emplace_back(name, option_of(value, path));
      }
    }
    state.param_groups.push_back(std::move(group));
  }
  return state;
}

}  // namespace

void save_optimizer(const std::string& path, const nn::OptimizerState& state, os::Files& files) {
  nn::NamedTensors tensors;
  for (const auto& [number, own] : state.state)
    for (const auto& [name, tensor] : own)
      tensors.emplace_back("state." + std::to_string(number) + "." + name, tensor);
  Json groups = Json::array();
  for (const nn::OptimizerState::Group& group : state.param_groups) {
    Json json = Json::object();
    for (const auto& [name, value] : group.options) json[name] = json_of(value);
    json["params"] = group.params;
    groups.push_back(std::move(json));
  }
  save_safetensors(path, tensors, {{kGroups, groups.dump()}}, files);
}

nn::OptimizerState load_optimizer(const std::string& path, const std::string& key,
                                  os::Files& files) {
  Result<os::Mapping> mapping = os::map_file(files, path);
  if (!mapping) throw std::move(mapping).error();
  // Those of torch.save are zip archives, or pickles of protocol 2. Safetensors begin with the
  // length of a header, which is not that long.
  static constexpr u8 kZip[] = {'P', 'K', 3, 4}, kPickle[] = {0x80, 2, 0x8a, 0x0a};
  const std::span<const u8> bytes = mapping->bytes();
  const bool is_torch = bytes.size() >= 4 && (std::equal(kZip, kZip + 4, bytes.begin()) ||
                                              std::equal(kPickle, kPickle + 4, bytes.begin()));
  return is_torch ? state_of_torch(path, key, files) : state_of_safetensors(path, files);
}

}  // namespace doorbell::io
