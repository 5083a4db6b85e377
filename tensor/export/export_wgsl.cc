// Kernels in WGSL, weights, a module and a page.
#include <fmt/format.h>

#include "base/os/host.h"
#include "tensor/engine/kernel_cache.h"
#include "tensor/engine/must.h"
#include "tensor/export/export.h"
#include "tensor/export/files.h"
#include "tensor/export/wgsl_module.h"

namespace doorbell::detail {

using engine::must;

void export_wgsl(const ExportedFunction& function, const ExportOptions& options) {
  check_names(function, options);
  std::vector<WgslKernel> kernels;
  for (const auto& item : function.plan->work->items) {
    WgslKernel& made = kernels.emplace_back();
    if (!item.kernel) continue;
    engine::CompiledKernel compiled =
        must(engine::kernel_compiler().render(*item.kernel->ast, "WGSL"));
    made = {std::move(compiled.text.source), std::move(compiled.binary)};
  }
  const ExportLayout layout(function);
  const std::string module = wgsl_module(function, options.name, kernels, layout);
  must(os::host_files().make_folders(options.folder));
  const std::string base = options.folder + "/" + options.name;
  layout.save_weights(base + ".safetensors");
  write_text(base + ".html", wgsl_page(options.name));
  write_text(base + ".js", module);
}

}  // namespace doorbell::detail
