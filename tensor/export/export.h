// Ahead-of-time export: a captured function as a C header, a static library and its weights, for
// programs without Doorbell. Jit::export_c is the way to it; `doorbell export` does it for the
// functions of a program.
//
//   auto predict = jit([&](const Tensor& image) { return model(image).softmax(); });
//   predict(image), predict(image);  // a first call, and one that captures
//   predict.export_c({.folder = "out", .name = "digits", .arguments = {"image"}});
//
// writes out/digits.h, out/libdigits.a, out/digits.safetensors, and out/digits.c, of which the
// library was made. The code is this machine's: it needs the CPU that it was compiled for, which
// digits_open() checks.
//
// Jit::export_wgsl writes out/digits.js, out/digits.html and out/digits.safetensors instead: a
// module for browsers with WebGPU, a page that calls it, and the weights (docs/webgpu.md).
#pragma once

#include <string>
#include <vector>

#include "tensor/nn/module.h"

namespace doorbell {

struct ExportOptions {
  std::string folder = ".";    // made where there is none
  std::string name = "model";  // of the files, and what the C functions begin with
  // Names in the header, in order; those not given are argument0, ... and result0, ...
  std::vector<std::string> arguments{}, results{};
  // Names of tensors that the function refers to, for the weights: nn::state_of(model).
  nn::NamedTensors weights{};
};

namespace detail {

struct ExportedFunction;

// Throws Error: a name that is no C identifier, a kernel for another device than the CPU, a file
// that cannot be written, a C compiler that is missing.
void export_c(const ExportedFunction& function, const ExportOptions& options);
// The same, of kernels of any device; a kernel that WGSL cannot express (64-bit floats), and a copy
// of parts of words.
void export_wgsl(const ExportedFunction& function, const ExportOptions& options);
// Leaves the reason in NAME.refused, for `doorbell export`.
void export_refused(const ExportOptions& options, const std::string& reason);

}  // namespace detail
}  // namespace doorbell
