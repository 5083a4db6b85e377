// What the probe's kernels share: what the generations spell differently. A kernel is one file:
// `begin NAME`, its instructions, `describe NAME`. It finds the address of its arguments in s[0:1];
// `start` puts the group's number into s8 and the item's in its group into v0.
// tests/tools/amd_probe/kernels_test.cc assembles them, for all chips, into kernel_words.inc.

.set GENERATION, .amdgcn.gfx_generation_number

.macro begin name
  .text
  .globl \name
  .p2align 8
  .type \name,@function
\name:
.endm

.macro start
  .if GENERATION >= 12
    s_mov_b32 s8, ttmp9
  .else
    s_mov_b32 s8, s2
  .endif
  v_and_b32 v0, 0x3ff, v0
.endm

.macro wait_scalar
  .if GENERATION >= 12
    s_wait_kmcnt 0x0
  .else
    s_waitcnt lgkmcnt(0)
  .endif
.endm

.macro wait_local
  .if GENERATION >= 12
    s_wait_dscnt 0x0
  .else
    s_waitcnt lgkmcnt(0)
  .endif
.endm

// Loads and atomics that return; stores where they are counted together.
.macro wait_vector
  .if GENERATION >= 12
    s_wait_loadcnt 0x0
  .else
    s_waitcnt vmcnt(0)
  .endif
.endm

.macro wait_stores
  .if GENERATION >= 12
    s_wait_storecnt 0x0
  .elseif GENERATION >= 10
    s_waitcnt_vscnt null, 0x0
  .else
    s_waitcnt vmcnt(0)
  .endif
.endm

.macro group_barrier
  .if GENERATION >= 12
    s_barrier_signal -1
    s_barrier_wait -1
  .else
    s_barrier
  .endif
.endm

.macro add_vector to, a, b
  .if GENERATION >= 10
    v_add_nc_u32 \to, \a, \b
  .else
    v_add_u32 \to, \a, \b
  .endif
.endm

.macro subtract_vector to, a, b
  .if GENERATION >= 10
    v_sub_nc_u32 \to, \a, \b
  .else
    v_sub_u32 \to, \a, \b
  .endif
.endm

.macro store_word address, data, base
  .if GENERATION >= 11
    global_store_b32 \address, \data, \base
  .else
    global_store_dword \address, \data, \base
  .endif
.endm

// old = *(base + address), += data: 32 bits, seen by the whole system.
.macro add_and_return old, address, data, base
  .if GENERATION >= 12
    global_atomic_add_u32 \old, \address, \data, \base th:TH_ATOMIC_RETURN scope:SCOPE_SYS
  .elseif GENERATION >= 11
    global_atomic_add_u32 \old, \address, \data, \base glc
  .elseif GENERATION >= 10
    global_atomic_add \old, \address, \data, \base glc
  .else
    global_atomic_add \old, \address, \data, \base sc0 sc1
  .endif
.endm

.macro describe name, scratch=0
  .section .rodata,"a",@progbits
  .p2align 6
  .if GENERATION == 10 && \scratch > 0
    .amdhsa_kernel \name
      .amdhsa_user_sgpr_kernarg_segment_ptr 1
      .amdhsa_user_sgpr_flat_scratch_init 1
      .amdhsa_system_sgpr_private_segment_wavefront_offset 1
      .amdhsa_private_segment_fixed_size \scratch
      .amdhsa_next_free_vgpr 16
      .amdhsa_next_free_sgpr 32
      .amdhsa_wavefront_size32 1
    .end_amdhsa_kernel
  .elseif GENERATION >= 11 && \scratch > 0
    .amdhsa_kernel \name
      .amdhsa_user_sgpr_kernarg_segment_ptr 1
      .amdhsa_enable_private_segment 1
      .amdhsa_private_segment_fixed_size \scratch
      .amdhsa_next_free_vgpr 16
      .amdhsa_next_free_sgpr 32
      .amdhsa_wavefront_size32 1
    .end_amdhsa_kernel
  .elseif GENERATION >= 10
    .amdhsa_kernel \name
      .amdhsa_user_sgpr_kernarg_segment_ptr 1
      .amdhsa_next_free_vgpr 16
      .amdhsa_next_free_sgpr 32
      .amdhsa_wavefront_size32 1
    .end_amdhsa_kernel
  .elseif \scratch > 0
    .amdhsa_kernel \name
      .amdhsa_user_sgpr_kernarg_segment_ptr 1
      .amdhsa_enable_private_segment 1
      .amdhsa_private_segment_fixed_size \scratch
      .amdhsa_next_free_vgpr 16
      .amdhsa_next_free_sgpr 32
      .amdhsa_accum_offset 16
    .end_amdhsa_kernel
  .else
    .amdhsa_kernel \name
      .amdhsa_user_sgpr_kernarg_segment_ptr 1
      .amdhsa_next_free_vgpr 16
      .amdhsa_next_free_sgpr 32
      .amdhsa_accum_offset 16
    .end_amdhsa_kernel
  .endif
.endm
