// The text form of graphs: any bytes are refused or read, and what is read prints to a fixed point.
#include "core/uop/print.h"

#include <cstdlib>

using namespace doorbell;

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  core::Arena first;
  Result<core::UOp> root = core::parse(first, text);
  if (!root.has_value()) return 0;
  std::string printed = core::print(first, *root);
  core::Arena second;
  Result<core::UOp> again = core::parse(second, printed);
  if (!again.has_value() || core::print(second, *again) != printed) std::abort();
  return 0;
}
