// Arguments and dispatches.
#include "drivers/metal/program.h"

#include "base/util/check.h"
#include "base/util/try.h"

namespace doorbell::metal {
namespace {

Size size_of(const i64 (&axes)[3]) {
  return {static_cast<u64>(axes[0]), static_cast<u64>(axes[1]), static_cast<u64>(axes[2])};
}

}  // namespace

Result<std::unique_ptr<core::Program>> MetalProgram::make(const core::Device& device,
                                                          Context& context, std::string_view name,
                                                          Owned pipeline,
                                                          const core::Binary& binary) {
  const u64 most = context.api().send<u64>(pipeline.get(), context.api().sel.max_items);
  const Size items = size_of(binary.group_items);
  if (items.width * items.height * items.depth > most)
    return fail(ErrorKind::Unsupported,
                "kernel {} has groups of {} x {} x {} items, {} runs at most {} of it (NOOPT=1 "
                "makes smaller ones)",
                name, items.width, items.height, items.depth, device.name(), most);
  return std::unique_ptr<core::Program>(
      new MetalProgram(device, context, name, std::move(pipeline), binary));
}

MetalProgram::MetalProgram(const core::Device& device, Context& context, std::string_view name,
                           Owned pipeline, const core::Binary& binary)
    : device_(device),
      context_(context),
      name_(name),
      pipeline_(std::move(pipeline)),
      params_(binary.param_count),
      variables_(binary.variable_count),
      groups_(size_of(binary.grid_groups)),
      items_(size_of(binary.group_items)) {}

void MetalProgram::check(std::span<const core::BufferView> buffers,
                         std::span<const i64> variables) const {
  CHECK(buffers.size() == params_ && variables.size() == variables_,
        "kernel {} with {} buffers and {} variables, expected {} and {}", name_, buffers.size(),
        variables.size(), params_, variables_);
  for (const core::BufferView& view : buffers)
    CHECK(&view.buffer->device() == &device_, "kernel {} of {} with a buffer of {}", name_,
          device_.name(), view.buffer->device().name());
}

Result<void> MetalProgram::launch(std::span<const core::BufferView> buffers,
                                  std::span<const i64> variables) {
  check(buffers, variables);
  TRY(context_.usable());
  TRY(context_.wait_for_room());
  const Api& api = context_.api();
  const Pool pool(api);
  Context::Lock lock(context_.mutex());
  const Id encoder = context_.compute_encoder(name_);
  if (encoder == nullptr) return fail(ErrorKind::Os, "kernel {}: Metal gives no encoder", name_);
  api.send(encoder, api.sel.set_pipeline, pipeline_.get());
  for (u64 i = 0; i < buffers.size(); ++i)
    api.send(encoder, api.sel.set_buffer, memory_of(buffers[i].buffer->memory()).handle,
             static_cast<u64>(buffers[i].offset), i);
  if (!variables.empty())
    api.send(encoder, api.sel.set_bytes, static_cast<const void*>(variables.data()),
             static_cast<u64>(variables.size_bytes()), static_cast<u64>(buffers.size()));
  api.send(encoder, api.sel.dispatch, groups_, items_);
  const u64 number = context_.encoded();
  for (const core::BufferView& view : buffers)
    memory_of(view.buffer->memory()).last_use.store(number, std::memory_order_release);
  return {};
}

}  // namespace doorbell::metal
