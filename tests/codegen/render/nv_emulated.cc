// Launches a program's kernel on the interpreter, with the host's memory as the GPU's.
#include "tests/codegen/render/nv_emulated.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/os/host.h"
#include "codegen/compile/llvm_compiler.h"
#include "codegen/compile/nvjitlink_compiler.h"
#include "codegen/compile/nvrtc_compiler.h"
#include "codegen/render/cuda_renderer.h"
#include "emulator/nv/compute/launch.h"
#include "emulator/nv/compute/rules.h"
#include "emulator/nv/isa/tensor_map.h"

namespace doorbell::codegen::testing {

namespace {

// The pages that the buffers are in, at the host's addresses.
void map_buffers(emu::AddressSpace& memory, const LinearProgram& program,
                 const std::vector<void*>& args) {
  constexpr u64 kPage = emu::AddressSpace::kPage;
  std::vector<std::pair<u64, u64>> runs;
  for (usize i = 0; i < program.params.size(); ++i) {
    const u64 start = reinterpret_cast<u64>(args.at(i));
    const u64 bytes = static_cast<u64>(program.params[i].count * program.params[i].dtype.bytes());
    runs.emplace_back(start / kPage * kPage, (start + bytes + kPage - 1) / kPage * kPage);
  }
  std::ranges::sort(runs);
  for (usize i = 0; i < runs.size();) {
    auto [start, end] = runs[i];
    for (++i; i < runs.size() && runs[i].first <= end; ++i) end = std::max(end, runs[i].second);
    if (end == start) continue;
    const u32 buffer = memory.add_buffer({start, end - start, "host", 0, 0, 0});
    const auto mapped = memory.map(start, end - start, reinterpret_cast<u8*>(start), true, false,
                                   emu::MemoryType{}, buffer);
    ASSERT_TRUE(mapped) << to_string(mapped.error());
  }
}

}  // namespace

CudaFolders nv_folders() {
  CudaFolders where{&os::host_files(), {}};
  if (const char* path = std::getenv("CUDA_PATH")) where.folders.push_back(path);
  return where;
}

const std::vector<std::string>& nv_targets() {
  static const std::vector<std::string> kTargets = {"CUDA_sm_86", "CUDA_sm_90", "PTX_sm_90"};
  return kTargets;
}

bool is_nv_target(const std::string& name) {
  return std::ranges::find(nv_targets(), name) != nv_targets().end();
}

NvToolchain make_nv_toolchain(std::string_view renderer, std::string_view chip, bool tensor_maps) {
  const nv::hw::Chip& row = *nv::hw::find_chip(chip);
  const std::string architecture(row.architecture);
  const auto reads = [](const Result<int>& ptx) { return ptx ? *ptx : NvTarget::kAnyPtx; };
  if (renderer == "CUDA") {
    const NvTarget target{.ptx = reads(ptx_of_nvrtc(nv_folders())), .tensor_maps = tensor_maps};
    return {make_cuda_renderer(cuda_caps(row, target)),
            make_nvrtc_compiler(architecture, nv_folders())};
  }
  const int ptx = reads(ptx_of_nvjitlink(nv_folders()));
  const LlvmTarget target{LlvmTarget::Family::Nv, architecture, std::min(row.ptx, ptx)};
  return {make_llvm_renderer(nv_caps(row, {.ptx = ptx, .tensor_maps = tensor_maps}), target),
          make_nvjitlink_compiler(architecture, nv_folders(), make_llvm_compiler(target))};
}

NvToolchain make_nv_toolchain(const std::string& target) {
  const usize line = target.find('_');
  return make_nv_toolchain(std::string_view(target).substr(0, line),
                           std::string_view(target).substr(line + 1));
}

void append_tensor_maps(std::span<const core::TensorMap> maps, std::span<const u64> addresses,
                        u32 base, std::vector<u8>* parameters) {
  for (const core::TensorMap& map : maps) {
    emu::nvgpu::TensorMap made{
        .address = addresses[static_cast<usize>(map.slot)] + static_cast<u64>(map.offset),
        .rank = static_cast<u32>(map.dimensions.size()),
        .element_bytes = static_cast<u32>(map.element_bytes),
        .swizzle_units = 8};
    for (usize i = 0; i < map.dimensions.size(); ++i) {
      made.size[i] = static_cast<u64>(map.dimensions[i].size);
      made.stride[i] = static_cast<u64>(map.dimensions[i].stride);
      made.box[i] = static_cast<u32>(map.dimensions[i].box);
      made.every[i] = 1;
    }
    // u8, u16, u32. Addresses in the constant bank are aligned, not offsets of parameters.
    const u32 type = static_cast<u32>(std::countr_zero(made.element_bytes));
    const auto bytes = emu::nvgpu::write_tensor_map(made, type);
    while ((base + parameters->size()) % 128 != 0) parameters->push_back(0);
    parameters->insert(parameters->end(), bytes.begin(), bytes.end());
  }
}

void NvKernel::run(const std::vector<void*>& args, const std::vector<i64>& variables) const {
  emu::AddressSpace memory;
  map_buffers(memory, program, args);
  std::vector<u8> parameters;
  const auto append = [&](const void* bytes) {
    parameters.resize(parameters.size() + 8);
    std::memcpy(parameters.data() + parameters.size() - 8, bytes, 8);
  };
  for (void* const& arg : args) append(&arg);
  for (const i64& variable : variables) append(&variable);
  const emu::nvgpu::CubinKernel* kernel = cubin->find_kernel(program.name);
  ASSERT_NE(kernel, nullptr) << program.name;
  std::vector<u64> addresses;
  for (void* const arg : args) addresses.push_back(reinterpret_cast<u64>(arg));
  append_tensor_maps(program.tensor_maps, addresses, kernel->parameter_base, &parameters);
  emu::nvgpu::Launch launch;
  for (usize axis = 0; axis < 3; ++axis) {
    launch.grid[axis] = static_cast<u32>(program.grid_groups[axis]);
    launch.block[axis] = static_cast<u32>(program.group_items[axis]);
  }
  launch.dynamic_shared = static_cast<u32>(program.dynamic_shared_bytes);
  launch.parameters = parameters;
  launch.most_instructions = 200'000'000;
  emu::Checks checks(emu::Level::Error);
  const auto result = emu::nvgpu::launch(*cubin, *kernel, launch, memory, checks);
  ASSERT_TRUE(result) << to_string(result.error());
  EXPECT_FALSE(result->fault) << to_string(*result->fault);
}

}  // namespace doorbell::codegen::testing
