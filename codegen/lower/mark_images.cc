// One pass over the loads.
#include "codegen/lower/mark_images.h"

#include "codegen/linear/multiple.h"
#include "codegen/render/memory.h"

namespace doorbell::codegen {

using core::Op;
using core::UOp;

namespace {

constexpr i64 kLanes = 4;  // of a texel

bool is_texel(UOp load) {
  const UOp index = load.src(0);
  return index.is(Op::Index) && load.dtype().lanes == kLanes &&
         (index.nsrc() < 3 || index.src(2).dtype().lanes == 1) &&
         known_multiple(index.src(1)) >= kLanes;
}

}  // namespace

void mark_images(const Caps& caps, LinearProgram* program) {
  if (caps.image_texels == 0) return;
  enum class Reads : u8 { None, Texels, Others };
  std::vector<Reads> reads(program->params.size(), Reads::None);
  for (UOp u : program->ops) {
    if (!u.is(Op::Load)) continue;
    const UOp memory = memory_of(u.src(0));
    if (!memory.is(Op::Param)) continue;
    Reads& seen = reads[static_cast<usize>(memory.arg(0))];
    if (seen != Reads::Others) seen = is_texel(u) ? Reads::Texels : Reads::Others;
  }
  for (usize slot = 0; slot < reads.size(); ++slot) {
    ProgramParam& param = program->params[slot];
    param.image = reads[slot] == Reads::Texels && !param.written &&
                  param.dtype.element() == core::dtypes::f32 && param.count > 0 &&
                  param.count / kLanes <= caps.image_texels;
  }
}

}  // namespace doorbell::codegen
