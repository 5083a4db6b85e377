// endless(): never ends.
begin endless
again:
  s_nop 0
  s_branch again
  s_endpgm
describe endless
