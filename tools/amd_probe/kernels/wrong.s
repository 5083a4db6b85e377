// wrong(): a word that no chip has an instruction for, 4 bytes in.
begin wrong
  s_nop 0
  .long 0xbfff0000
  s_endpgm
describe wrong
