// local(u32 out[], u64 bytes): groups of 256 items fill `bytes` of LDS, a multiple of 1024, with
// numbers of their own; each item then reads what another one wrote, from the end on, and writes
// all bits that are wrong anywhere.
begin local
  start
  .if GENERATION >= 11
    s_load_b64 s[4:5], s[0:1], 0x0
    s_load_b32 s6, s[0:1], 0x8
  .else
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    s_load_dword s6, s[0:1], 0x8
  .endif
  s_mul_i32 s9, s8, 0x9e3779b1
  v_lshlrev_b32 v1, 2, v0
  v_mov_b32 v2, v1
  s_mov_b32 s10, 0
  wait_scalar
fill:
  v_xor_b32 v3, s9, v2
  .if GENERATION >= 11
    ds_store_b32 v2, v3
  .else
    ds_write_b32 v2, v3
  .endif
  add_vector v2, 0x400, v2
  s_add_u32 s10, s10, 0x400
  s_cmp_lt_u32 s10, s6
  s_cbranch_scc1 fill
  wait_local
  group_barrier
  v_mov_b32 v2, v1
  v_mov_b32 v8, 0
  s_mov_b32 s10, 0
  s_sub_u32 s11, s6, 4
compare:
  subtract_vector v4, s11, v2
  .if GENERATION >= 11
    ds_load_b32 v5, v4
  .else
    ds_read_b32 v5, v4
  .endif
  v_xor_b32 v6, s9, v4
  wait_local
  v_xor_b32 v5, v5, v6
  v_or_b32 v8, v8, v5
  add_vector v2, 0x400, v2
  s_add_u32 s10, s10, 0x400
  s_cmp_lt_u32 s10, s6
  s_cbranch_scc1 compare
  v_mov_b32 v4, s8
  v_lshl_add_u32 v4, v4, 8, v0
  v_lshlrev_b32 v4, 2, v4
  store_word v4, v8, s[4:5]
  s_endpgm
describe local
