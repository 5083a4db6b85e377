// The declarations of a launch, written into the text.
#include "codegen/render/wgsl_launch.h"

#include "base/util/check.h"
#include "drivers/webgpu/hw/abi/bindings.h"

namespace doorbell::codegen {

WgslLaunch wgsl_launch(std::string_view source, std::span<const u32> memory) {
  namespace hw = webgpu::hw;
  hw::KernelAbi abi;
  CHECK(hw::parse_header(source, &abi), "a text in WGSL without its header");
  CHECK(memory.size() == abi.params.size(), "{} params in WGSL, expected {}", memory.size(),
        abi.params.size());
  const hw::Sharing sharing{{memory.begin(), memory.end()}};
  WgslLaunch launch;
  launch.source = hw::shared_source(source, abi, sharing);
  for (u32 g = 0; g < hw::bindings_of(sharing); ++g)
    launch.written.push_back(hw::is_written(abi, sharing, g));
  launch.words = abi.words();
  for (usize i = 0; i < abi.params.size(); ++i)
    launch.params.push_back({abi.offset_word(i), abi.params[i].offset_unit()});
  for (u32 i = 0; i < abi.variables; ++i) launch.variable_words.push_back(abi.variable_word(i));
  return launch;
}

}  // namespace doorbell::codegen
