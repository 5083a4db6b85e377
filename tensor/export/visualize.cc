// A plan of the one tensor, made anew so that its kernels keep their texts.
#include "tensor/export/visualize.h"

#include "base/os/host.h"
#include "tensor/api/disk.h"
#include "tensor/engine/must.h"
#include "tensor/engine/realize.h"
#include "tensor/export/graph_page.h"

namespace doorbell {

void visualize(const Tensor& x, const std::string& path) {
  if (detail::on_disk(x)) detail::refuse_on_disk("visualize");
  engine::GraphLog log;
  const core::UOpRef owner = x.uop();
  const core::UOp node = *owner;
  engine::log_plan({&node, 1}, &log);
  const std::string page = detail::graph_page(log, {});
  const std::span bytes(reinterpret_cast<const u8*>(page.data()), page.size());
  engine::must(os::replace_file(os::host_files(), path, bytes, os::host_random().next()));
}

}  // namespace doorbell
