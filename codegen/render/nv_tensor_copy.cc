// [PTX ISA 9.0, "cp.async.bulk.tensor"; "elect.sync"; "mbarrier.init", "mbarrier.arrive",
// "mbarrier.try_wait";
// CUDA Programming Guide 13, "Asynchronous Data Copies Using the Tensor Memory Accelerator"]
#include "codegen/render/nv_tensor_copy.h"

#include <fmt/format.h>

namespace doorbell::codegen {

// The fence: copies by the asynchronous proxy see the objects.
std::string nv_mbarrier_init(i64 count, char sign) {
  std::string text = fmt::format("{{ .reg .pred p; setp.ne.b32 p, {}0, 0; ", sign);
  for (i64 i = 0; i < count; ++i)
    text += fmt::format("@p mbarrier.init.shared::cta.b64 [{}1+{}], 1; ", sign, 8 * i);
  return text + "fence.proxy.async.shared::cta; }";
}

// ptxas makes a loop over lanes around a copy, unless a branch that a warp takes as a whole and
// elect.sync say that it is one lane's.
std::string nv_tensor_copy(core::UOp copy, char sign) {
  std::string text = "{ .reg .pred p; elect.sync _|p, 0xffffffff; ", at;
  if (phase_bytes_of(copy) > 0)
    text += fmt::format("@p mbarrier.arrive.expect_tx.shared::cta.b64 _, [{}2], {}; ", sign,
                        phase_bytes_of(copy));
  const usize rank = coordinates_of(copy).size();
  for (usize i = 0; i < rank; ++i) at += fmt::format("{}{}{}", i ? ", " : "", sign, i + 3);
  return text + fmt::format(
                    "@p cp.async.bulk.tensor.{0}d.shared::cluster.global.tile.mbarrier::"
                    "complete_tx::bytes [{1}0], [{1}1, {{{2}}}], [{1}2]; }}",
                    rank, sign, at);
}

std::string nv_phase_wait(char sign) {
  return fmt::format(
      "{{ .reg .pred p; again: mbarrier.try_wait.parity.shared::cta.b64 p, [{0}0], {0}1; "
      "@!p bra again; }}",
      sign);
}

}  // namespace doorbell::codegen
