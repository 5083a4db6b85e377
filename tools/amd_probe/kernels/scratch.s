// scratch(u32 out[][2], u32 *arrived, u64 waves): each item of groups of 64 puts its number, and
// that inverted, into its private memory, then all waves of the grid wait for each other, so that
// all of it is in use at once; then it writes what its memory holds.
begin scratch
  .if GENERATION == 10
    // Private memory by two user registers and the wave's offset behind the group's number.
    s_add_u32 s2, s2, s5
    s_addc_u32 s3, s3, 0
    s_setreg_b32 hwreg(HW_REG_FLAT_SCR_LO), s2
    s_setreg_b32 hwreg(HW_REG_FLAT_SCR_HI), s3
    s_mov_b32 s8, s4
    v_and_b32 v0, 0x3ff, v0
  .else
    start
  .endif
  .if GENERATION >= 11
    s_load_b128 s[12:15], s[0:1], 0x0
    s_load_b32 s16, s[0:1], 0x10
  .else
    s_load_dwordx4 s[12:15], s[0:1], 0x0
    s_load_dword s16, s[0:1], 0x10
  .endif
  v_mov_b32 v1, s8
  v_lshl_add_u32 v1, v1, 6, v0
  v_not_b32 v2, v1
  .if GENERATION >= 11
    scratch_store_b32 off, v1, off offset:4
    scratch_store_b32 off, v2, off offset:124
  .else
    scratch_store_dword off, v1, off offset:4
    scratch_store_dword off, v2, off offset:124
  .endif
  wait_stores
  wait_scalar
  // One item of each wave counts it, and looks until all are there; for a while.
  .if GENERATION >= 10
    s_mov_b32 s20, exec_lo
    s_mov_b32 exec_lo, 1
  .else
    s_mov_b64 s[20:21], exec
    s_mov_b64 exec, 1
  .endif
  v_mov_b32 v8, 0
  v_mov_b32 v9, 1
  add_and_return v10, v8, v9, s[14:15]
  wait_vector
  v_mov_b32 v9, 0
  s_mov_b32 s19, 0
look:
  add_and_return v10, v8, v9, s[14:15]
  wait_vector
  v_readfirstlane_b32 s18, v10
  s_cmp_ge_u32 s18, s16
  s_cbranch_scc1 all_there
  s_sleep 2
  s_add_u32 s19, s19, 1
  s_cmp_lt_u32 s19, 0x40000
  s_cbranch_scc1 look
all_there:
  .if GENERATION >= 10
    s_mov_b32 exec_lo, s20
  .else
    s_mov_b64 exec, s[20:21]
  .endif
  .if GENERATION >= 11
    scratch_load_b32 v4, off, off offset:4
    scratch_load_b32 v5, off, off offset:124
  .else
    scratch_load_dword v4, off, off offset:4
    scratch_load_dword v5, off, off offset:124
  .endif
  v_lshlrev_b32 v1, 3, v1
  wait_vector
  .if GENERATION >= 11
    global_store_b64 v1, v[4:5], s[12:13]
  .else
    global_store_dwordx2 v1, v[4:5], s[12:13]
  .endif
  s_endpgm
describe scratch, 128
