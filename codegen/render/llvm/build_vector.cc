// Vectors from lanes, lanes of vectors, ramps. Vectors of bytes or halves gathered from lanes of
// others are made word by word, where the target permutes bytes.
#include <llvm/IR/Constants.h>

#include <array>
#include <optional>

#include "base/util/check.h"
#include "codegen/render/llvm/function_builder.h"

namespace doorbell::codegen {

using core::UOp;

namespace {

// A byte of a vector: of which word.
struct Byte {
  UOp vector;
  i64 word = 0;
  u8 byte = 0;
  bool same_word(const Byte& other) const { return vector == other.vector && word == other.word; }
};

// The bytes of a vector's word, or nothing if they are not those of lanes.
std::optional<std::array<Byte, 4>> bytes_of(UOp u, i64 word) {
  const i64 size = u.dtype().element().bytes();
  std::array<Byte, 4> bytes;
  for (i64 i = 0; i < 4; ++i) {
    UOp lane = u.src(static_cast<usize>((word * 4 + i) / size));
    if (!lane.is(core::Op::Lane) || lane.dtype().lanes != 1) return std::nullopt;
    UOp vector = lane.src(0);
    if (vector.dtype().lanes * size % 4 != 0) return std::nullopt;
    const i64 at = lane.arg(0) * size + i % size;
    bytes[static_cast<usize>(i)] = {vector, at / 4, static_cast<u8>(at % 4)};
  }
  return bytes;
}

}  // namespace

llvm::Value* FunctionBuilder::word(UOp vector, i64 number) {
  const auto words = static_cast<unsigned>(vector.dtype().bytes() / 4);
  if (words == 1) return b_.CreateBitCast(value(vector), b_.getInt32Ty());
  auto* type = llvm::FixedVectorType::get(b_.getInt32Ty(), words);
  return b_.CreateExtractElement(b_.CreateBitCast(value(vector), type), static_cast<u64>(number));
}

// Null if the target does not permute bytes, or the lanes are of something else.
llvm::Value* FunctionBuilder::gather_words(UOp u) {
  const core::DType t = u.dtype();
  if (!frame_.traits().byte_permutes || t.is_bool() || t.element().bytes() > 2 || t.bytes() % 4)
    return nullptr;
  const i64 words = t.bytes() / 4;
  llvm::Value* made = llvm::PoisonValue::get(
      llvm::FixedVectorType::get(b_.getInt32Ty(), static_cast<unsigned>(words)));
  for (i64 i = 0; i < words; ++i) {
    const auto bytes = bytes_of(u, i);
    if (!bytes) return nullptr;
    // Two words first make one of neighbours from both, which another word of a transposed block
    // needs too.
    const auto& [a, b, c, d] = *bytes;
    auto word_of = [&](const Byte& byte) { return word(byte.vector, byte.word); };
    auto both = [&](const Byte& x, const Byte& y) {
      const u8 low_x = x.byte & 2, low_y = y.byte & 2;
      return frame_.permute(b_, word_of(x), word_of(y),
                            {low_x, static_cast<u8>(4 + low_y), static_cast<u8>(low_x + 1),
                             static_cast<u8>(4 + low_y + 1)});
    };
    llvm::Value* gathered;
    const bool whole = a.same_word(b) && a.same_word(c) && a.same_word(d) && a.byte == 0 &&
                       b.byte == 1 && c.byte == 2 && d.byte == 3;
    if (whole) {
      gathered = word_of(a);
    } else if (a.same_word(b) && c.same_word(d)) {
      gathered = frame_.permute(
          b_, word_of(a), word_of(c),
          {a.byte, b.byte, static_cast<u8>(4 + c.byte), static_cast<u8>(4 + d.byte)});
    } else {
      const u8 x = a.byte & 1, y = b.byte & 1, z = c.byte & 1, w = d.byte & 1;
      gathered = frame_.permute(b_, both(a, b), both(c, d),
                                {static_cast<u8>(2 * x), static_cast<u8>(2 * y + 1),
                                 static_cast<u8>(4 + 2 * z), static_cast<u8>(4 + 2 * w + 1)});
    }
    made = b_.CreateInsertElement(made, gathered, static_cast<u64>(i));
  }
  return b_.CreateBitCast(made, value_type(t));
}

llvm::Value* FunctionBuilder::vec(UOp u) {
  CHECK(u.nsrc() == u.dtype().lanes, "a vector of {} lanes from {} sources", u.dtype().lanes,
        u.nsrc());
  if (llvm::Value* gathered = gather_words(u)) return gathered;
  llvm::Value* vector = llvm::PoisonValue::get(value_type(u.dtype()));
  for (usize i = 0; i < u.nsrc(); ++i) {
    vector = b_.CreateInsertElement(vector, value(u.src(i)), static_cast<u64>(i));
  }
  return vector;
}

llvm::Value* FunctionBuilder::lane(UOp u) {
  auto first = static_cast<int>(u.arg(0));
  llvm::Value* vector = value(u.src(0));
  if (u.src(0).dtype().lanes == 1) return vector;
  CHECK(first >= 0 && first + u.dtype().lanes <= u.src(0).dtype().lanes,
        "lanes {} to {} of a vector of {}", first, first + u.dtype().lanes, u.src(0).dtype().lanes);
  if (u.dtype().lanes == 1) return b_.CreateExtractElement(vector, static_cast<u64>(first));
  std::vector<int> mask;
  for (int i = 0; i < u.dtype().lanes; ++i) mask.push_back(first + i);
  return b_.CreateShuffleVector(vector, mask);
}

llvm::Value* FunctionBuilder::ramp(UOp u) {
  core::DType t = u.dtype();
  std::vector<llvm::Constant*> steps;
  for (i64 i = 0; i < t.lanes; ++i) {
    u64 step = static_cast<u64>(i) * static_cast<u64>(u.arg(0));
    if (t.bits() < 64) step &= (u64{1} << t.bits()) - 1;
    steps.push_back(llvm::ConstantInt::get(element_type(t), step));
  }
  llvm::Value* start = b_.CreateVectorSplat(t.lanes, value(u.src(0)));
  return b_.CreateAdd(start, llvm::ConstantVector::get(steps));
}

}  // namespace doorbell::codegen
