// A kernel whose groups all wait for each other, as cooperative launches do: phase by phase each
// writes a cell, meets the others at a barrier of the whole grid (a counter in memory), and makes
// its next value of its neighbours' cells. And the same on the host.
//
//   void kernel(u32* counter, u32* cells, u32* out, i64 groups, i64 phases) {
//     u32 value = group;
//     for (u32 phase = 0; phase < phases; ++phase) {
//       if (item == 0) {
//         cells[phase * groups + group] = value;
//         atomic_add(counter, 1);                               // agent scope, acquire and release
//         while (atomic_load(counter) < (phase + 1) * groups);  // agent scope, acquire
//         value = 3 * cells[phase * groups + (group + 1) % groups]
//               + cells[phase * groups + (group + groups - 1) % groups] + phase;
//       }
//       barrier of the group;
//     }
//     if (item == 0) out[group] = value;
//   }
#pragma once

#include <vector>

#include "base/util/types.h"

namespace doorbell::testing {

inline constexpr const char* kGridBarrier = R"(
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare void @llvm.amdgcn.s.barrier()
define amdgpu_kernel void @kernel(ptr addrspace(1) %counter, ptr addrspace(1) %cells,
                                  ptr addrspace(1) %out, i64 %groups64, i64 %phases64) #0 {
entry:
  %groups = trunc i64 %groups64 to i32
  %phases = trunc i64 %phases64 to i32
  %item = call i32 @llvm.amdgcn.workitem.id.x()
  %group = call i32 @llvm.amdgcn.workgroup.id.x()
  %leads = icmp eq i32 %item, 0
  %right0 = add i32 %group, 1
  %wraps = icmp eq i32 %right0, %groups
  %right = select i1 %wraps, i32 0, i32 %right0
  %begins = icmp eq i32 %group, 0
  %last = sub i32 %groups, 1
  %left0 = sub i32 %group, 1
  %left = select i1 %begins, i32 %last, i32 %left0
  br label %phase
phase:
  %n = phi i32 [ 0, %entry ], [ %n1, %meet ]
  %value = phi i32 [ %group, %entry ], [ %next, %meet ]
  %n1 = add i32 %n, 1
  br i1 %leads, label %lead, label %meet
lead:
  %row = mul i32 %n, %groups
  %own = add i32 %row, %group
  %cell = getelementptr i32, ptr addrspace(1) %cells, i32 %own
  store i32 %value, ptr addrspace(1) %cell
  %before = atomicrmw add ptr addrspace(1) %counter, i32 1 syncscope("agent") acq_rel
  %all = mul i32 %n1, %groups
  br label %wait
wait:
  %there = load atomic i32, ptr addrspace(1) %counter syncscope("agent") acquire, align 4
  %early = icmp ult i32 %there, %all
  br i1 %early, label %wait, label %go
go:
  %ri = add i32 %row, %right
  %li = add i32 %row, %left
  %rp = getelementptr i32, ptr addrspace(1) %cells, i32 %ri
  %lp = getelementptr i32, ptr addrspace(1) %cells, i32 %li
  %rv = load i32, ptr addrspace(1) %rp
  %lv = load i32, ptr addrspace(1) %lp
  %r3 = mul i32 %rv, 3
  %sum = add i32 %r3, %lv
  %made = add i32 %sum, %n
  br label %meet
meet:
  %next = phi i32 [ %value, %phase ], [ %made, %go ]
  call void @llvm.amdgcn.s.barrier()
  %more = icmp ult i32 %n1, %phases
  br i1 %more, label %phase, label %end
end:
  br i1 %leads, label %write, label %done
write:
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %group
  store i32 %next, ptr addrspace(1) %o
  br label %done
done:
  ret void
}
attributes #0 = { "amdgpu-flat-work-group-size"="128,128" "amdgpu-no-implicitarg-ptr" }
)";
inline constexpr u32 kGridBarrierItems = 128;  // of a group

inline std::vector<u32> grid_barrier_values(u32 groups, u32 phases) {
  std::vector<u32> values(groups), next(groups);
  for (u32 i = 0; i < groups; ++i) values[i] = i;
  for (u32 phase = 0; phase < phases; ++phase) {
    for (u32 i = 0; i < groups; ++i)
      next[i] = 3 * values[(i + 1) % groups] + values[(i + groups - 1) % groups] + phase;
    values.swap(next);
  }
  return values;
}

}  // namespace doorbell::testing
