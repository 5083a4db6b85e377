// touch(u64 address): reads there.
begin touch
  .if GENERATION >= 11
    s_load_b64 s[4:5], s[0:1], 0x0
  .else
    s_load_dwordx2 s[4:5], s[0:1], 0x0
  .endif
  v_mov_b32 v1, 0
  wait_scalar
  .if GENERATION >= 11
    global_load_b32 v2, v1, s[4:5]
  .else
    global_load_dword v2, v1, s[4:5]
  .endif
  wait_vector
  s_endpgm
describe touch
