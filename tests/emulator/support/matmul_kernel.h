// A 256 x 256 x 256 product of f32 in LLVM IR: groups of 64 work items, each a tile of 32 by 32
// through LDS, each work item 4 by 4 of it. What clang made of:
//
//   local float as[8][32], bs[8][32];
//   for (k = 0; k < 256; k += 8) {
//     load as (transposed) and bs, four elements each; barrier;
//     for (p = 0; p < 8; ++p)
//       for (i = 0; i < 4; ++i)
//         for (j = 0; j < 4; ++j) acc[i][j] = fma(as[p][ty + i], bs[p][tx + j], acc[i][j]);
//     barrier;
//   }
#pragma once

namespace doorbell::testing {

// kernel(c, a, b), 8 x 8 groups.
inline constexpr const char* kMatmul256 = R"(
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workgroup.id.y()
declare void @llvm.amdgcn.s.barrier()
declare float @llvm.fma.f32(float, float, float)
declare void @llvm.memset.p5.i64(ptr addrspace(5), i8, i64, i1)
@as = internal addrspace(3) global [8 x [32 x float]] poison, align 4
@bs = internal addrspace(3) global [8 x [32 x float]] poison, align 4
define amdgpu_kernel void @kernel(ptr addrspace(1) %0, ptr addrspace(1) align 4 %1,
                                  ptr addrspace(1) align 4 %2) #0 {
  %4 = alloca [4 x [4 x float]], align 4, addrspace(5)
  %5 = call i32 @llvm.amdgcn.workitem.id.x()
  %6 = call i32 @llvm.amdgcn.workgroup.id.x()
  %7 = shl i32 %6, 5
  %8 = call i32 @llvm.amdgcn.workgroup.id.y()
  %9 = shl i32 %8, 5
  %10 = shl nuw nsw i32 %5, 2
  %11 = and i32 %10, 28
  %12 = lshr i32 %5, 1
  %13 = and i32 %12, 508
  call void @llvm.memset.p5.i64(ptr addrspace(5) %4, i8 0, i64 64, i1 false)
  br label %14
14:
  %.0 = phi i32 [ 0, %3 ], [ %48, %47 ]
  %15 = icmp samesign ult i32 %.0, 256
  br i1 %15, label %16, label %71
16:
  %.053 = phi i32 [ %44, %19 ], [ 0, %14 ]
  %17 = icmp samesign ult i32 %.053, 4
  br i1 %17, label %19, label %18
18:
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  br label %45
19:
  %20 = shl nuw nsw i32 %.053, 6
  %21 = add nuw nsw i32 %5, %20
  %22 = lshr i32 %21, 3
  %23 = add nsw i32 %9, %22
  %24 = shl nsw i32 %23, 8
  %25 = and i32 %5, 7
  %26 = or disjoint i32 %24, %25
  %27 = or disjoint i32 %26, %.0
  %28 = sext i32 %27 to i64
  %29 = getelementptr inbounds float, ptr addrspace(1) %1, i64 %28
  %30 = load float, ptr addrspace(1) %29, align 4
  %31 = getelementptr inbounds nuw [32 x float], ptr addrspace(3) @as, i32 %25
  %32 = getelementptr inbounds nuw float, ptr addrspace(3) %31, i32 %22
  store float %30, ptr addrspace(3) %32, align 4
  %33 = lshr i32 %21, 5
  %34 = add nuw nsw i32 %.0, %33
  %35 = shl nuw nsw i32 %34, 8
  %36 = add nsw i32 %35, %7
  %37 = and i32 %5, 31
  %38 = or disjoint i32 %36, %37
  %39 = sext i32 %38 to i64
  %40 = getelementptr inbounds float, ptr addrspace(1) %2, i64 %39
  %41 = load float, ptr addrspace(1) %40, align 4
  %42 = getelementptr inbounds nuw [32 x float], ptr addrspace(3) @bs, i32 %33
  %43 = getelementptr inbounds nuw float, ptr addrspace(3) %42, i32 %37
  store float %41, ptr addrspace(3) %43, align 4
  %44 = add nuw nsw i32 %.053, 1
  br label %16
45:
  %.058 = phi i32 [ 0, %18 ], [ %52, %51 ]
  %46 = icmp samesign ult i32 %.058, 8
  br i1 %46, label %49, label %47
47:
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %48 = add nuw nsw i32 %.0, 8
  br label %14
49:
  %.057 = phi i32 [ %56, %55 ], [ 0, %45 ]
  %50 = icmp samesign ult i32 %.057, 4
  br i1 %50, label %53, label %51
51:
  %52 = add nuw nsw i32 %.058, 1
  br label %45
53:
  %.056 = phi i32 [ %70, %57 ], [ 0, %49 ]
  %54 = icmp samesign ult i32 %.056, 4
  br i1 %54, label %57, label %55
55:
  %56 = add nuw nsw i32 %.057, 1
  br label %49
57:
  %58 = getelementptr inbounds nuw [32 x float], ptr addrspace(3) @as, i32 %.058
  %59 = getelementptr inbounds nuw float, ptr addrspace(3) %58, i32 %13
  %60 = getelementptr inbounds nuw float, ptr addrspace(3) %59, i32 %.057
  %61 = load float, ptr addrspace(3) %60, align 4
  %62 = getelementptr inbounds nuw [32 x float], ptr addrspace(3) @bs, i32 %.058
  %63 = getelementptr inbounds nuw float, ptr addrspace(3) %62, i32 %11
  %64 = getelementptr inbounds nuw float, ptr addrspace(3) %63, i32 %.056
  %65 = load float, ptr addrspace(3) %64, align 4
  %66 = getelementptr inbounds nuw [4 x float], ptr addrspace(5) %4, i32 %.057
  %67 = getelementptr inbounds nuw float, ptr addrspace(5) %66, i32 %.056
  %68 = load float, ptr addrspace(5) %67, align 4
  %69 = call float @llvm.fma.f32(float %61, float %65, float %68)
  store float %69, ptr addrspace(5) %67, align 4
  %70 = add nuw nsw i32 %.056, 1
  br label %53
71:
  %.055 = phi i32 [ %76, %75 ], [ 0, %14 ]
  %72 = icmp samesign ult i32 %.055, 4
  br i1 %72, label %73, label %end
73:
  %.054 = phi i32 [ %89, %77 ], [ 0, %71 ]
  %74 = icmp samesign ult i32 %.054, 4
  br i1 %74, label %77, label %75
75:
  %76 = add nuw nsw i32 %.055, 1
  br label %71
77:
  %78 = getelementptr inbounds nuw [4 x float], ptr addrspace(5) %4, i32 %.055
  %79 = getelementptr inbounds nuw float, ptr addrspace(5) %78, i32 %.054
  %80 = load float, ptr addrspace(5) %79, align 4
  %81 = add nsw i32 %9, %13
  %82 = or disjoint i32 %81, %.055
  %83 = shl nsw i32 %82, 8
  %84 = add nsw i32 %83, %7
  %85 = or disjoint i32 %84, %11
  %86 = or disjoint i32 %85, %.054
  %87 = sext i32 %86 to i64
  %88 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %87
  store float %80, ptr addrspace(1) %88, align 4
  %89 = add nuw nsw i32 %.054, 1
  br label %73
end:
  ret void
}
attributes #0 = { "amdgpu-flat-work-group-size"="64,64" }
)";

}  // namespace doorbell::testing
