// The linear program: what a renderer turns into source or IR. A list of UOps in execution order,
// made by linearize.h after lowering. Renderers print the list in a language.
//
// In the list (sources always earlier):
//   Const            anywhere; rendered in place
//   Param            args {slot, count}: base pointer of dtype elements (u8 in memory for Bool)
//   Variable         a run-time i64 argument, dtype i32 or i64 after lowering
//   Special          args {kind, axis 0..2, extent}. ThreadId: CPU. GroupId, LocalId: the work
//                    group's and the work item's number on an axis, below grid_groups/group_items
//   DefinePrivate, DefineLocal   args {id, count[, alignment]}: an array, 64-byte aligned, or to
//                    as many bytes. Local: one a group
//   Barrier          work items of a group wait for each other here, and see each other's stores
//                    to DefineLocal; every item of a group comes to the same barriers. With args
//                    {n}, they see asynchronous stores too, but those of an item's last n batches.
//                    With args {n, 1}, so do matrix instructions that read local memory
//   DefineReg        a mutable scalar or vector register of the node's dtype
//   Range ... End    for (i = 0; i < size; ++i) {...}; End's srcs are {last effect or Group, Range}
//   If ... EndIf     a guarded block
//   Index            an address: src {memory, element index [, gate]}; element index is i32 or i64
//   Wmma             src {A, B, C}, args {tensor core}: A * B + C of a wave (codegen/tensor_core.h)
//                    by vectors of an item's elements. Of a tensor core that reads local memory, A
//                    and B are Indices, where the group's tile of the operand begins (LocalMatrix),
//                    and args are {tensor core, n, pitch and contiguous axis of A, those of B}. It
//                    may be done later: with n >= 0 it ends a batch of them, and those before the
//                    last n batches are done; with n = -1 it does neither
//   Load             Load(Index): dtype lanes are consecutive elements; the address is aligned to
//                    one element; to how many more, known_multiple (multiple.h) says of the index,
//                    up to the alignment of the memory itself. With a gate: the gate is
//                    Bool (scalar: all lanes) or Bool x lanes (per lane), and src[1] is the value
//                    where it is false. Load(DefineReg) and Load(After(DefineReg)) read it.
//                    With args {kMatrix}, of local memory: each item of a wave of 32 names 16
//                    bytes, and word m of item l is word l % 4 of what item 8 m + l / 4 names.
//                    With {kMatrix | kMatrixTransposed}, of elements of 16 bits, or of pairs of 8:
//                    word m of item l is number l / 4 of what items 8 m + 2 (l % 4) and next name.
//                    With args {kTransposing}, of a Param: in waves of 32, whose items all come to
//                    it, each item names eight elements, a row of one of the blocks of 8 by 8, and
//                    gets a column. Of 16 bits element e of item l is element l % 8 of what item
//                    l / 8 * 8 + e names; of 8 bits, of what item l / 16 * 16 + e / 4 * 8 + l / 8 %
//                    2 * 4 + e % 4 names
//                    With args {kFinished}, of a register: all batches of Wmma are done
//   Store            Store(Index, value) (gate as above: masked lanes are not written);
//                    Store(DefineReg, value). With args {kAsync}, of a Load of a Param to local
//                    memory: it may be done later, until a Barrier waits for its batch. Stores
//                    with other args copy boxes of tensors: tensor_copy.h
//   After, Group     order only; After is its src[0]. A Group with args {kAsync} ends a batch of
//                    asynchronous Stores: those since the last one
//   Vec, Splat, Lane, Ramp, Cast, Bitcast and the elementwise ops, scalar or vector
// No node has dtype Index any more; Bool in memory is one byte, 0 or 1.
#pragma once

#include <string>
#include <vector>

#include "core/device/tensor_map.h"
#include "core/uop/arena.h"

namespace doorbell::codegen {

// Bits of a Load's arg. Before expansion its elements are those of a tensor core's operand, in rows
// of whole units of 16 bytes along the depth, or, transposed, along the other axis. Swapped: the
// second and the third word of four change places in the registers.
inline constexpr i64 kMatrix = 1, kMatrixSwapped = 2, kMatrixTransposed = 4;
inline bool is_matrix_load(core::UOp u) {
  return u.is(core::Op::Load) && u.narg() > 0 && u.arg(0) & kMatrix;
}
// Before expansion: the operand of a tensor core that reads local memory. Args {kMatrixLocal,
// pitch and contiguous axis of a LocalMatrix, batches that may be left undone}.
inline constexpr i64 kMatrixLocal = 8;
inline bool is_local_matrix(core::UOp u) {
  return u.is(core::Op::Load) && u.narg() > 0 && u.arg(0) == kMatrixLocal;
}
inline constexpr i64 kFinished = 16;
inline bool is_finished_load(core::UOp u) {
  return u.is(core::Op::Load) && u.narg() > 0 && u.arg(0) == kFinished;
}
inline constexpr i64 kTransposing = 32, kTransposedElements = 8;
inline bool is_transposing_load(core::UOp u) {
  return u.is(core::Op::Load) && u.narg() > 0 && u.arg(0) == kTransposing;
}
// The arg of a Store, which stores so many bytes, and of the Group of a batch of them.
inline constexpr i64 kAsync = 1, kAsyncBytes = 16;
inline bool is_async_store(core::UOp u) {
  return u.is(core::Op::Store) && u.narg() > 0 && u.arg(0) == kAsync;
}
inline bool is_async_batch(core::UOp u) { return u.is(core::Op::Group) && u.narg() > 0; }

// An operand in local memory, rows of 128 bytes (kLocalRowBytes): `depth` elements of a row of A or
// a column of B, or, along the output, as many rows of A or columns of B at one depth. Where there
// are more of them than a row has, the next ones are `pitch` elements behind. Of row r of the tile,
// unit u, of 16 bytes, is at unit u ^ r % 8: eight rows begin at a multiple of kLocalTileAlignment.
struct LocalMatrix {
  i64 pitch = 0;
  bool along_output = false;
};
inline constexpr i64 kLocalUnitBytes = 16, kLocalTileAlignment = 1024;

// Wmma's.
inline constexpr i64 kSameBatch = -1;
inline bool reads_local(core::UOp wmma) { return wmma.is(core::Op::Wmma) && wmma.narg() > 1; }
inline i64 batches_left(core::UOp wmma) { return wmma.arg(1); }
inline LocalMatrix local_matrix(core::UOp wmma, usize operand) {
  return {wmma.arg(2 + 2 * operand), wmma.arg(3 + 2 * operand) != 0};
}

// Of a DefineLocal array; and with what is behind it up to the next one.
inline i64 local_array_alignment(core::UOp array) {
  constexpr i64 kAlignment = 64;
  return array.narg() > 2 ? array.arg(2) : kAlignment;
}
inline i64 local_array_bytes(core::UOp array) {
  const i64 alignment = local_array_alignment(array);
  return (array.arg(1) * array.dtype().bytes() + alignment - 1) / alignment * alignment;
}
// Where it begins, if what is before it takes `used` bytes.
inline i64 local_array_start(core::UOp array, i64 used) {
  const i64 alignment = local_array_alignment(array);
  return (used + alignment - 1) / alignment * alignment;
}

struct ProgramParam {
  core::DType dtype = core::dtypes::u8;  // u8 for a parameter that is no longer read
  i64 count = 0;                         // elements
  bool written = false;
  bool image = false;  // may be read as an image of four elements a texel (lower/mark_images.h)
};

struct LinearProgram {
  std::string name;                  // a C identifier
  std::string plan;                  // the optimisations of its loops, as text
  std::vector<core::UOp> ops;        // borrowed from the kernel's arena
  std::vector<ProgramParam> params;  // by slot
  std::vector<i64> variables;        // interned names, in argument order
  i64 param_alignment = 1;           // of Params' addresses, in bytes; at least their elements'
  i64 threads = 1;                   // extent of Special ThreadId: host-parallel parts
  i64 grid_groups[3] = {1, 1, 1};    // work groups: GroupId extents
  i64 group_items[3] = {1, 1, 1};    // work items of a group: LocalId extents
  // If not 0: the launch asks for so many bytes of local memory, in which the DefineLocal arrays
  // follow each other in the order of the list (local_array_start).
  i64 dynamic_shared_bytes = 0;
  std::vector<core::TensorMap> tensor_maps;  // of the copies of boxes (tensor_copy.h)
  // Estimates for DEBUG=2 and the profiler: arithmetic, and bytes touched at least once.
  f64 flops = 0, bytes = 0;
};

// The entry point of a CPU kernel, both renderers: extern "C" symbol LinearProgram::name.
//   args: by slot, the buffer addresses; variables: in order; thread: 0 .. threads-1.
using CpuKernel = void (*)(void* const* args, const i64* variables, i64 thread);

}  // namespace doorbell::codegen
