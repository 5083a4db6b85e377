// Nodes in the order of a depth-first walk from the sink, each with its parts. The arena's scratch
// marks are left alone, so that several threads may read one kernel.
#include "codegen/compile/kernel_identity.h"

#include <string_view>
#include <type_traits>
#include <vector>

namespace doorbell::codegen {

using core::Op;
using core::UOp;

namespace {

template <class T>
  requires std::is_trivially_copyable_v<T>
void append(std::string* bytes, T value) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof(T));
}

void append_node(std::string* bytes, UOp u, const std::vector<u32>& numbers) {
  append(bytes, static_cast<u8>(u.op()));
  append(bytes, static_cast<u8>(u.dtype().scalar));
  append(bytes, u.dtype().lanes);
  append(bytes, static_cast<u16>(u.nsrc()));
  append(bytes, static_cast<u16>(u.narg()));
  for (UOp s : u.srcs()) append(bytes, numbers[s.id()]);
  for (usize i = 0; i < u.narg(); ++i) {
    if (u.is(Op::Variable) && i == 0) {
      // Name ids differ between processes.
      std::string_view name = core::interned_name(u.arg(0));
      append(bytes, static_cast<u32>(name.size()));
      bytes->append(name);
    } else {
      append(bytes, u.arg(i));
    }
  }
}

// Calls visit(node, numbers) for each node after its sources; numbers are by id.
template <class Visit>
void for_each_node(const core::KernelAst& kernel, const Visit& visit) {
  struct Frame {
    UOp node;
    usize next;
  };
  constexpr u32 kUnseen = UINT32_MAX, kOpen = UINT32_MAX - 1;
  std::vector<u32> numbers(kernel.arena->node_count(), kUnseen);
  std::vector<Frame> stack = {{kernel.sink, 0}};
  u32 count = 0;
  numbers[kernel.sink.id()] = kOpen;
  while (!stack.empty()) {
    Frame& top = stack.back();
    if (top.next < top.node.nsrc()) {
      UOp s = top.node.src(top.next++);
      if (numbers[s.id()] != kUnseen) continue;
      numbers[s.id()] = kOpen;
      stack.push_back({s, 0});
      continue;
    }
    visit(top.node, numbers);
    numbers[top.node.id()] = count++;
    stack.pop_back();
  }
}

}  // namespace

std::string kernel_identity(const core::KernelAst& kernel) {
  std::string bytes;
  for_each_node(kernel,
                [&](UOp u, const std::vector<u32>& numbers) { append_node(&bytes, u, numbers); });
  return bytes;
}

std::bitset<core::kScalarCount> kernel_dtypes(const core::KernelAst& kernel) {
  std::bitset<core::kScalarCount> dtypes;
  for_each_node(kernel, [&](UOp u, const std::vector<u32>&) {
    dtypes.set(static_cast<usize>(u.dtype().scalar));
  });
  return dtypes;
}

}  // namespace doorbell::codegen
