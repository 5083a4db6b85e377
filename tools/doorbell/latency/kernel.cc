// The engine compiles the kernel, so that users' launches are measured.
#include "tools/doorbell/latency/kernel.h"

#include "base/util/check.h"
#include "tensor/api/tensor.h"
#include "tensor/engine/must.h"
#include "tensor/engine/realize.h"

namespace doorbell::tools::latency {

TestKernel::TestKernel(core::Device& device) {
  const Tensor input = Tensor::full({1}, 1.0, {.device = device.name()}).contiguous().realize();
  const Tensor sum = input + 1;
  const core::UOpRef root = sum.uop();
  const core::UOp roots[] = {*root};
  core::GraphKey key;
  key.walk(roots, true);
  engine::KernelCache cache(4);
  const engine::Plan plan = engine::make_plan(key, roots, cache);
  const engine::ExecutionPlan& work = *plan.work;
  CHECK_EQ(work.items.size(), 1u);
  const engine::ExecutionPlan::Item& item = work.items[0];
  CHECK(item.kernel && item.argument_count == 2 && item.variable_count == 0,
        "x + 1 is not a kernel of two buffers");
  kernel_ = item.kernel;
  for (usize i = 0; i < 2; ++i) {
    is_output_[i] = !work.is_input(work.arguments_of(item)[i].source);
    buffers_[i] = engine::must(core::Buffer::allocate(device, sizeof(f32)));
    const f32 zero = 0;
    engine::must(buffers_[i]->copy_in(&zero, sizeof zero));
  }
}

void TestKernel::launch() const {
  const core::BufferView views[2] = {{buffers_[0].get(), 0}, {buffers_[1].get(), 0}};
  engine::must(kernel_->program->launch(views, {}));
}

hcq::GpuAddr TestKernel::address(hcq::Device& device, usize buffer) const {
  return engine::must(device.address_of(*buffers_[buffer]));
}

void TestKernel::record(hcq::Device& device, hcq::CommandBuffer* commands, usize turn) const {
  const hcq::Operand buffers[2] = {address(device, turn % 2), address(device, (turn + 1) % 2)};
  hcq::Launch launch;
  launch.program = kernel_->program.get();
  launch.buffers = buffers;
  commands->exec(launch);
}

}  // namespace doorbell::tools::latency
