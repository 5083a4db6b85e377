// Other values for undefined bits.
#include "emulator/amd/isa/shadow/twin_trial.h"

#include "emulator/amd/isa/run.h"

namespace doorbell::emu::amdgpu {

namespace {

u32 words_of(const Wave& wave, Type type) {
  return registers_of(type) == 2 || (type == Type::Mask && wave.lanes == 64) ? 2 : 1;
}
u32 filled(u32 is, u32 undefined, u32 with) { return (is & ~undefined) | (with & undefined); }

}  // namespace

// A word of the first operand, for the second and all else; of the second, for the first.
u32 Trial::other(u32 operand, u32 word, u32 lane) const {
  const Source& source = op_.src[operand == 0 ? 1 : 0];
  switch (source.kind) {
    case Source::Kind::Vector: return wave_.v[source.row + word * wave_.lanes + lane];
    case Source::Kind::Scalar: return wave_.s[source.index + word];
    case Source::Kind::Constant: return static_cast<u32>(source.value >> (32 * word));
    default: return static_cast<u32>(op_.immediate);
  }
}

void Trial::fill_vector(u32 operand, u32 word, Fill with) {
  const u32 index = op_.src[operand].row / wave_.lanes + word;
  const u32* is = wave_.v + usize{index} * wave_.lanes;
  u32* twin = twin_.row(index);
  if (saved_rows_ == kMaxRows) return;
  saved_index_[saved_rows_] = index;
  std::memcpy(saved_[saved_rows_++].data(), twin, wave_.lanes * sizeof(u32));
  for (u32 lane = 0; lane < wave_.lanes; ++lane) {
    const u32 bits = with == Fill::Zeros  ? 0
                     : with == Fill::Ones ? ~0u
                                          : other(operand, word, lane);
    twin[lane] = filled(is[lane], is[lane] ^ twin[lane], bits);
  }
}

void Trial::fill(Fill with) {
  saved_rows_ = 0;
  saved_scalars_ = twin_.s;
  saved_scc_ = twin_.scc;
  for (u32 operand = 0; operand < op_.src.size(); ++operand) {
    const Source& source = op_.src[operand];
    const u32 words = words_of(wave_, op_.entry->shape.src[operand]);
    for (u32 word = 0; word < words; ++word) {
      if (source.kind == Source::Kind::Vector) fill_vector(operand, word, with);
      if (source.kind != Source::Kind::Scalar) continue;
      const u32 is = wave_.s[source.index + word];
      u32& twin = twin_.s[source.index + word];
      const u32 bits = with == Fill::Zeros ? 0 : with == Fill::Ones ? ~0u : other(operand, word, 0);
      twin = filled(is, is ^ twin, bits);
    }
  }
}

void Trial::restore() {
  // The last first: an operand that is named twice was saved twice.
  while (saved_rows_ > 0) {
    --saved_rows_;
    std::memcpy(twin_.row(saved_index_[saved_rows_]), saved_[saved_rows_].data(),
                wave_.lanes * sizeof(u32));
  }
  twin_.s = saved_scalars_;
  twin_.scc = saved_scc_;
}

void Trial::run() {
  for (Fill with : {Fill::Zeros, Fill::Ones, Fill::Other}) {
    fill(with);
    run_one(twin_, op_);
    ones_ |= result(twin_);
    zeros_ |= ~result(twin_);
    restore();
  }
}

void Trial::conclude() {
  const u64 is = result(wave_), twin = result(twin_);
  const u64 undefined = (ones_ | is | twin) & (zeros_ | ~is | ~twin);
  if (is_mask()) {
    twin_.set_mask(op_.dst, is ^ undefined);
  } else {
    twin_.scc = (is ^ undefined) & 1;
  }
}

}  // namespace doorbell::emu::amdgpu
