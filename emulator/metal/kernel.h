// A kernel in MSL, compiled as C++ for the host under our own metal_stdlib (stdlib.h) and run on
// the calling thread. Work items of a group that has barriers or matrices are fibers (fibers.h);
// other items run one after another.
//
// Not checked: address spaces, which C++ has not (a test reads the renderer's text with clang's C++
// for OpenCL, which has), and races between items, which run in one order only.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/util/result.h"
#include "base/util/types.h"
#include "emulator/core/checks.h"

namespace doorbell::emu::metal {

struct KernelArgument {
  u64 index;
  u64 element_bytes;
};

// A rule that a kernel broke while it ran, and how.
struct KernelFault {
  const Check* rule;
  std::string what;
};

class Kernel {
 public:
  struct Grid {
    u32 groups[3], items[3];
  };

  virtual ~Kernel() = default;
  const std::string& name() const { return name_; }
  const std::vector<KernelArgument>& arguments() const { return arguments_; }
  u64 max_items() const { return max_items_; }
  virtual u64 group_bytes() const = 0;  // of threadgroup memory
  // Arguments by index. One call at a time.
  virtual std::optional<KernelFault> run(const void* const* arguments, const Grid& grid) = 0;

 protected:
  std::string name_;
  std::vector<KernelArgument> arguments_;
  u64 max_items_ = ~u64{0};  // max_total_threads_per_threadgroup
};

// A text with one kernel. An error has the compiler's message.
Result<std::shared_ptr<Kernel>> compile_kernel(std::string_view source, bool fast_math);

// The declaration of a kernel, taken apart.
struct KernelText {
  struct Parameter {
    std::string type;       // "device const float*"
    std::string attribute;  // "buffer(0)"
  };
  std::string name;
  u64 max_items = ~u64{0};
  std::vector<Parameter> parameters;
};
Result<KernelText> read_kernel_text(std::string_view source);
// C++ that the host's compiler takes: the standard library, the text with threadgroup memory as
// memory of its own, and the function that calls the kernel.
Result<std::string> host_source(std::string_view source, const KernelText& text);

}  // namespace doorbell::emu::metal
