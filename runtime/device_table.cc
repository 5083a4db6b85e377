// The rows, in the order of docs and of `doorbell devices`.
#include "runtime/device_table.h"

#include "codegen/compile/llvm_compiler.h"
#include "drivers/cl/device.h"

namespace doorbell::runtime {
namespace {

std::vector<DeviceRow>& rows() {
  static const bool kLlvm = codegen::has_llvm();
  static std::vector<DeviceRow>& table = *new std::vector<DeviceRow>{
      {"AMD",
       {"KFD", "PCI", "USB", "EMUKFD", "EMUPCI", "EMUUSB"},
       {{"LLVM", kLlvm}, {"HIP", true}},
       true,
       1},
      {"NV", {"NVK", "PCI", "EMUNVK", "EMUPCI"}, {{"CUDA", false}, {"PTX", false}}, false, 2},
      {"QCOM", {"KGSL", "EMUKGSL"}, {{"IR3", false}, {"CL", false}}, false, 3},
      {"METAL", {}, {{"MSL", false}}, false, 4},
      {"CUDA", {}, {{"CUDA", false}, {"PTX", false}}, false, 5},
      {"CL", {"ICD"}, {{"CL", cl::is_built()}}, cl::is_built(), 6},
      {"CPU", {}, {{"LLVM", kLlvm}, {"CLANG", true}}, true, 7},
      {"WEBGPU", {}, {{"WGSL", false}}, false, 0},
      // Compiles for any renderer by name, and runs nothing. LLVM by itself is the host's.
      {"NULL",
       {},
       {{"LLVM", kLlvm}, {"CLANG", true}, {"CL", true}, {"AMD_LLVM", kLlvm}, {"AMD_HIP", true}},
       true,
       0},
  };
  return table;
}

}  // namespace

std::span<const DeviceRow> device_table() { return rows(); }

void add_device_row(DeviceRow row) { rows().push_back(std::move(row)); }

const DeviceRow* find_device(std::string_view name) {
  for (const DeviceRow& row : rows())
    if (row.name == name) return &row;
  return nullptr;
}

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const DeviceRow& row : rows()) names.push_back(row.name);
  return names;
}

}  // namespace doorbell::runtime
