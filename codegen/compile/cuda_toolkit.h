// Where NVIDIA's compilers lie: in a toolkit's folder, or in the wheels on PyPI. See
// nvrtc_compiler.h and nvjitlink_compiler.h for their use.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/files.h"
#include "base/os/library.h"

namespace doorbell::codegen {

// Folders to look in, in order: toolkits ("/usr/local/cuda-13.0"), and folders `nvidia` of
// site-packages, in which each wheel has one of its own ("cu13", "cuda_nvrtc").
struct CudaFolders {
  os::Files* files = nullptr;  // borrowed for good
  std::vector<std::string> folders;
};

// Of "libnvrtc": the newest in each of the folders, then what the system's loader finds, then those
// in the usual toolkit's folders. Version 12 and later.
std::vector<std::string> cuda_library_names(const CudaFolders& where, std::string_view library);

// The first of them that loads; never unloaded. The error says where it was looked for, and
// `remedy`, a sentence about what to install.
Result<const os::Library*> open_cuda_library(const CudaFolders& where, std::string_view library,
                                             std::string_view remedy);

// The newest version of PTX that the compilers of that CUDA read: 84 for PTX 8.4. Of a CUDA newer
// than those that are known here, the newest version that is.
int newest_ptx(int major, int minor);

// Of "nvdisasm": its path in one of the folders, or the name, which is then looked for in PATH.
std::string find_cuda_program(const CudaFolders& where, std::string_view program);

}  // namespace doorbell::codegen
