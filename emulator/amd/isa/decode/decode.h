// Decoder: turns the words of one instruction into operations. LLVM gives the name; operands are
// decoded from the words by the encodings in AMD's instruction set documents, so that they do not
// depend on LLVM's operand lists. See isa/decode/code_cache.h for blocks of code.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "emulator/amd/isa/chip.h"
#include "emulator/amd/isa/decode/instruction_source.h"
#include "emulator/amd/isa/handlers.h"
#include "emulator/amd/isa/operation.h"

namespace doorbell::emu::amdgpu {

// Bits high..low of a word, as the documents number them.
constexpr u32 field(u32 word, u32 high, u32 low) {
  return word >> low & (high - low == 31 ? ~0u : (1u << (high - low + 1)) - 1);
}
constexpr i64 sign_extend(u32 value, u32 bits) {
  const u32 sign = 1u << (bits - 1);
  return i64{value ^ sign} - i64{sign};
}

enum class Format : u8 {
  Sop2,
  Sop1,
  Sopk,
  Sopc,
  Sopp,
  Smem,
  Vop1,
  Vop2,
  Vopc,
  Vop3,
  Vop3p,
  Vopd,
  Ds,
  Flat,
  Buffer,
  Other,
};
Format format_of(const Chip& chip, u32 word);

class Decoder {
 public:
  Decoder(const Chip& chip, u32 lanes, const HandlerSet& handlers,
          std::unique_ptr<InstructionSource> source)
      : chip_(chip), lanes_(lanes), handlers_(handlers), source_(std::move(source)) {}

  // Appends the operations of the instruction at the start of the bytes, one or, for VOPD, up to
  // three, and returns its size. Bytes that are not an instruction, an instruction without a
  // handler, and one with an unknown source become an operation that stops with Exit::Illegal and
  // the name.
  u32 decode(std::span<const u8> bytes, u64 pc, std::vector<Operation>& out);

  const Chip& chip() const { return chip_; }
  u32 lanes() const { return lanes_; }

  // ---- for the files that decode ----
  // The source with the 9-bit operand code (8 bits for scalar instructions).
  Source source(u32 code, Type type, u32 literal) const;
  Source vector_source(u32 index) const;
  // The index in Wave::s of a scalar destination's code.
  u16 scalar_register(u32 code) const;

 private:
  void decode_one(Format format, const InstructionSource::Instruction& found, Operation& op) const;
  void decode_scalar(Format format, Operation& op) const;
  void decode_smem(Operation& op) const;
  void decode_vector(Format format, Operation& op) const;  // decode_vector.cc
  void decode_vop3(Operation& op) const;
  void decode_vop3p(Operation& op) const;
  void decode_dpp(u32 word, u32 kind, Operation& op) const;
  void decode_sdwa(u32 word, Format format, Operation& op) const;
  void set_vector_dst(u32 index, Operation& op) const;
  void finish_vector(Operation& op) const;
  void append_dual(std::string_view name, Operation op, std::vector<Operation>& out);
  void set_entry(std::string_view name, Operation& op) const;

  const Chip& chip_;
  const u32 lanes_;
  const HandlerSet& handlers_;
  std::unique_ptr<InstructionSource> source_;
};

}  // namespace doorbell::emu::amdgpu
