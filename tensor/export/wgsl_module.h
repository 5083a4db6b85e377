// The module in JavaScript of an exported function: what it launches, as data, and the text that
// runs it (wgsl_module.js). For compiling kernels and the files see export_wgsl.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/device/program.h"
#include "tensor/export/layout.h"

namespace doorbell::detail {

// A kernel of the layout, in the renderer's text.
struct WgslKernel {
  std::string source;
  core::Binary binary;
};

// Throws Error for what WebGPU cannot do: copies of parts of words.
std::string wgsl_module(const ExportedFunction& function, const std::string& name,
                        const std::vector<WgslKernel>& kernels,  // by item; of a copy: nothing
                        const ExportLayout& layout);
// The page that calls the module.
std::string wgsl_page(const std::string& name);

// The bytes of wgsl_module.js and wgsl_page.html; generated (embed_page.py).
std::string_view wgsl_module_template();
std::string_view wgsl_page_template();

}  // namespace doorbell::detail
