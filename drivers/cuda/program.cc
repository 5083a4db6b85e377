// Loading modules and launching their kernels.
#include "drivers/cuda/program.h"

#include <absl/container/inlined_vector.h>
#include <fmt/format.h>

#include "base/util/check.h"
#include "base/util/try.h"
#include "drivers/cuda/device.h"

namespace doorbell::cuda {

Result<std::unique_ptr<core::Program>> CudaProgram::make(const core::Binary& binary,
                                                         CudaDevice& device) {
  std::unique_ptr<CudaProgram> program(new CudaProgram(binary, device));
  TRY(device.context().failure());
  const Current current(device.context());
  TRY(program->load(binary));
  return std::unique_ptr<core::Program>(std::move(program));
}

CudaProgram::CudaProgram(const core::Binary& binary, CudaDevice& device)
    : device_(device),
      name_(binary.name),
      params_(binary.param_count),
      variables_(binary.variable_count),
      tensor_maps_(binary.tensor_maps),
      unaligned_(binary) {
  shape_.grid_x = static_cast<u32>(binary.grid_groups[0]);
  shape_.grid_y = static_cast<u32>(binary.grid_groups[1]);
  shape_.grid_z = static_cast<u32>(binary.grid_groups[2]);
  shape_.block_x = static_cast<u32>(binary.group_items[0]);
  shape_.block_y = static_cast<u32>(binary.group_items[1]);
  shape_.block_z = static_cast<u32>(binary.group_items[2]);
  shape_.shared_bytes = static_cast<u32>(binary.dynamic_shared_bytes);
}

Result<void> CudaProgram::load(const core::Binary& binary) {
  Context& context = device_.context();
  const Api& api = context.api();
  // libcuda finds the image's end by its headers.
  constexpr usize kElfHeaderBytes = 64;
  if (binary.image.size() < kElfHeaderBytes)
    return fail(ErrorKind::Corrupt, "the cubin of kernel {} is {} bytes, at least {} are needed",
                name_, binary.image.size(), kElfHeaderBytes);
  TRY(context.check(api.cuModuleLoadData(&module_, binary.image.data()),
                    fmt::format("cuModuleLoadData of kernel {}", name_)));
  TRY(context.check(api.cuModuleGetFunction(&shape_.func, module_, name_.c_str()),
                    fmt::format("cuModuleGetFunction of kernel {}", name_)));
  int threads = 0;
  TRY(context.check(
      api.cuFuncGetAttribute(&threads, FunctionAttribute::MaxThreadsPerBlock, shape_.func),
      fmt::format("cuFuncGetAttribute of kernel {}", name_)));
  const u64 wanted = u64{shape_.block_x} * shape_.block_y * shape_.block_z;
  if (wanted > static_cast<u64>(threads))
    return fail(ErrorKind::Unsupported,
                "kernel {} has blocks of {} threads, but {} runs at most {} of its", name_, wanted,
                device_.name(), threads);
  if (shape_.shared_bytes == 0) return {};
  return context.check(
      api.cuFuncSetAttribute(shape_.func, FunctionAttribute::MaxDynamicSharedSizeBytes,
                             static_cast<int>(shape_.shared_bytes)),
      fmt::format("cuFuncSetAttribute of kernel {}, for {} bytes of shared memory", name_,
                  shape_.shared_bytes));
}

CudaProgram::~CudaProgram() {
  if (module_ != nullptr) device_.unload_later(module_);
}

void CudaProgram::check_arguments(usize buffers, usize variables) const {
  CHECK(buffers == params_ && variables == variables_,
        "kernel {} with {} buffers and {} variables, expected {} and {}", name_, buffers, variables,
        params_, variables_);
}

Result<const CudaProgram*> CudaProgram::form_for(const u32* arguments) const {
  u64 bits = 0;
  for (usize i = 0; i < params_; ++i) bits |= arguments[2 * i];
  if (!unaligned_.is_needed(bits)) [[likely]]
    return this;
  TRY(core::Program * form, unaligned_.get(device_));
  return static_cast<const CudaProgram*>(form);
}

Result<EncodedMap> CudaProgram::tensor_map(usize number, u64 address) const {
  return tensor_maps_.get(number, address, device_.context(), name_);
}

Result<void> CudaProgram::launch(std::span<const core::BufferView> buffers,
                                 std::span<const i64> variables) {
  absl::InlinedVector<hcq::Operand, 32> addresses;
  for (const core::BufferView& view : buffers) {
    TRY(const hcq::GpuAddr address, device_.address_of(*view.buffer));
    addresses.emplace_back(address + static_cast<u64>(view.offset));
  }
  const absl::InlinedVector<hcq::Operand, 8> values(variables.begin(), variables.end());
  hcq::Queue& queue = device_.compute_queue();
  const std::unique_ptr<hcq::CommandBuffer> commands = queue.make_commands();
  commands->exec({this, addresses, values});
  TRY(queue.submit(*commands, device_.unfinished_copies()));
  return {};
}

}  // namespace doorbell::cuda
