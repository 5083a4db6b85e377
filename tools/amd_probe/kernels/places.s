// places(u32 out[][4]): each item of groups of 64 writes its group, its number in it, and where its
// wave runs: bits 15:8 of HW_ID (gfx9) or 20:8 of HW_ID1, and the XCC.
begin places
  start
  .if GENERATION >= 11
    s_load_b64 s[4:5], s[0:1], 0x0
  .else
    s_load_dwordx2 s[4:5], s[0:1], 0x0
  .endif
  .if GENERATION >= 10
    s_getreg_b32 s9, hwreg(HW_REG_HW_ID1, 8, 13)
    s_mov_b32 s10, 0
  .else
    s_getreg_b32 s9, hwreg(HW_REG_HW_ID, 8, 8)
    s_getreg_b32 s10, hwreg(HW_REG_XCC_ID)
  .endif
  v_mov_b32 v4, s8
  v_mov_b32 v5, v0
  v_mov_b32 v6, s9
  v_mov_b32 v7, s10
  v_lshl_add_u32 v1, v4, 6, v0
  v_lshlrev_b32 v1, 4, v1
  wait_scalar
  .if GENERATION >= 11
    global_store_b128 v1, v[4:7], s[4:5]
  .else
    global_store_dwordx4 v1, v[4:7], s[4:5]
  .endif
  s_endpgm
describe places
