// Loads are grouped by their buffer and by what they count with; the nearest one stays as it is.
#include "codegen/compile/llvm/shift_buffers.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/util/types.h"

namespace doorbell::codegen {
namespace {

using llvm::Instruction;

constexpr unsigned kBuffer = 0, kScalarPart = 2;                      // of a load
constexpr unsigned kBase = 0, kStride = 1, kRecords = 2, kFlags = 3;  // of a buffer

// factor * count + more, of 32 bits.
struct Scaled {
  llvm::PHINode* count = nullptr;
  u32 factor = 1, more = 0;
};

std::optional<u32> constant(const llvm::Value* v) {
  const auto* number = llvm::dyn_cast<llvm::ConstantInt>(v);
  if (number == nullptr || number->getBitWidth() != 32) return std::nullopt;
  return static_cast<u32>(number->getZExtValue());
}

// From the outside in: what is inside is multiplied by all factors found before.
std::optional<Scaled> scaled(llvm::Value* v) {
  Scaled s;
  while (auto* u = llvm::dyn_cast<llvm::BinaryOperator>(v)) {
    const auto c = constant(u->getOperand(1));
    if (!c) return std::nullopt;
    switch (u->getOpcode()) {
      case Instruction::Add: s.more += s.factor * *c; break;
      case Instruction::Mul: s.factor *= *c; break;
      case Instruction::Shl:
        if (*c > 31) return std::nullopt;
        s.factor <<= *c;
        break;
      default: return std::nullopt;
    }
    v = u->getOperand(0);
  }
  s.count = llvm::dyn_cast<llvm::PHINode>(v);
  if (s.count == nullptr) return std::nullopt;
  return s;
}

llvm::IntrinsicInst* intrinsic(llvm::Value* v, llvm::Intrinsic::ID id) {
  auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(v);
  return call != nullptr && call->getIntrinsicID() == id ? call : nullptr;
}

// The buffer from `bytes` on, which ends where it did; null where it has no more bytes.
llvm::Value* shifted(llvm::IntrinsicInst* buffer, u32 bytes) {
  const auto* records = llvm::dyn_cast<llvm::ConstantInt>(buffer->getArgOperand(kRecords));
  if (records == nullptr || records->getZExtValue() <= bytes) return nullptr;
  const u64 left = records->getZExtValue() - bytes;
  llvm::IRBuilder<> b(buffer->getNextNode());
  llvm::Value* base = b.CreatePtrAdd(buffer->getArgOperand(kBase), b.getInt64(bytes));
  return b.CreateIntrinsic(
      llvm::Intrinsic::amdgcn_make_buffer_rsrc, {buffer->getType(), base->getType()},
      {base, buffer->getArgOperand(kStride), b.getInt64(left), buffer->getArgOperand(kFlags)});
}

struct Load {
  llvm::IntrinsicInst* load;
  u32 more;
};

// All of one buffer, whose scalar parts differ by constants.
void shift(llvm::IntrinsicInst* buffer, const std::vector<Load>& loads) {
  const Load* nearest = &loads.front();
  for (const Load& l : loads)
    if (l.more < nearest->more) nearest = &l;
  std::map<u32, llvm::Value*> buffers;
  for (const Load& l : loads) {
    const u32 bytes = l.more - nearest->more;
    if (bytes == 0) continue;
    llvm::Value*& to = buffers[bytes];
    if (to == nullptr) to = shifted(buffer, bytes);
    if (to == nullptr) continue;
    llvm::IRBuilder<> b(l.load);
    llvm::Value* part = l.load->getArgOperand(kScalarPart);
    l.load->setArgOperand(kScalarPart, b.CreateSub(part, b.getInt32(bytes)));
    l.load->setArgOperand(kBuffer, to);
  }
}

}  // namespace

void shift_buffers(llvm::Function& function) {
  struct Key {
    llvm::IntrinsicInst* buffer;
    llvm::PHINode* count;
    u32 factor;
    bool operator==(const Key&) const = default;
  };
  std::vector<std::pair<Key, std::vector<Load>>> groups;  // in the order of the code
  for (llvm::BasicBlock& block : function) {
    for (Instruction& i : block) {
      auto* load = intrinsic(&i, llvm::Intrinsic::amdgcn_raw_ptr_buffer_load);
      if (load == nullptr) continue;
      auto* buffer =
          intrinsic(load->getArgOperand(kBuffer), llvm::Intrinsic::amdgcn_make_buffer_rsrc);
      const std::optional<Scaled> part = scaled(load->getArgOperand(kScalarPart));
      if (buffer == nullptr || !part || part->count->getParent() != &block) continue;
      const Key key{buffer, part->count, part->factor};
      auto found = std::ranges::find(groups, key, &std::pair<Key, std::vector<Load>>::first);
      if (found == groups.end()) found = groups.insert(found, {key, {}});
      found->second.push_back({load, part->more});
    }
  }
  for (const auto& [key, loads] : groups) shift(key.buffer, loads);
}

}  // namespace doorbell::codegen
