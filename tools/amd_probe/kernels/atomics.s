// atomics(u32 out[], u64 counters[2]): each item of groups of 64 adds 1 to 32 bits, writes what was
// there before, and adds 0x1'0000'0001 to the 64 bits behind them.
begin atomics
  start
  .if GENERATION >= 11
    s_load_b128 s[4:7], s[0:1], 0x0
  .else
    s_load_dwordx4 s[4:7], s[0:1], 0x0
  .endif
  v_mov_b32 v1, s8
  v_lshl_add_u32 v1, v1, 6, v0
  v_lshlrev_b32 v1, 2, v1
  v_mov_b32 v2, 0
  v_mov_b32 v4, 1
  v_mov_b32 v5, 1
  wait_scalar
  add_and_return v3, v2, v4, s[6:7]
  .if GENERATION >= 12
    global_atomic_add_u64 v2, v[4:5], s[6:7] offset:8 scope:SCOPE_SYS
  .elseif GENERATION >= 11
    global_atomic_add_u64 v2, v[4:5], s[6:7] offset:8
  .elseif GENERATION >= 10
    global_atomic_add_x2 v2, v[4:5], s[6:7] offset:8
  .else
    global_atomic_add_x2 v2, v[4:5], s[6:7] offset:8 sc1
  .endif
  wait_vector
  store_word v1, v3, s[4:5]
  s_endpgm
describe atomics
