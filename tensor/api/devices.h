// Devices: one device by name, or several in order. Where tensors lie on several is said by shard()
// and to(); opening them is the registry's.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace doorbell {

class Devices {
 public:
  // "CPU", or several names with commas between them: "CPU,CPU:1". Empty: the default device.
  Devices(std::string_view names);                                         // NOLINT: implicit
  Devices(const std::string& names) : Devices(std::string_view(names)) {}  // NOLINT
  Devices(const char* names) : Devices(std::string_view(names)) {}         // NOLINT
  Devices(std::initializer_list<std::string_view> names) : names_(names.begin(), names.end()) {}
  Devices(std::vector<std::string> names) : names_(std::move(names)) {}  // NOLINT

  const std::vector<std::string>& names() const { return names_; }  // empty: the default device

 private:
  std::vector<std::string> names_;
};

}  // namespace doorbell
