// AMD's kernels, for amdgcn-amd-amdhsa. The driver that launches one (drivers/amd) may rely on:
//   arguments   8 bytes a slot: the address of each Param by slot, then each variable as i64. No
//               hidden arguments: neither dispatch packet nor queue nor implicit pointer is wanted
//   groups      of exactly LinearProgram::group_items items, all of them full
//   registers   what the kernel descriptor enables, and nothing else: the kernel argument pointer,
//               the group ids in use, and where there is scratch what docs/hw/amd-code-objects.md
//               says of each chip
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/IR/MDBuilder.h>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "codegen/render/llvm/amd_matrix.h"
#include "codegen/render/llvm/gpu_frame.h"
#include "drivers/amd/hw/abi/buffer_resource.h"

namespace doorbell::codegen {
namespace {

// [LLVM AMDGPUUsage, "Address Spaces"]
[[maybe_unused]] constexpr unsigned kBufferSpace = 8;
// Offsets of buffer instructions: gfx12's have 24 bits and are not negative, others' have 12 bits.
// [LLVM, AMDGPU/SIInstrInfo.cpp: SIInstrInfo::getMaxMUBUFImmOffset]
[[maybe_unused]] constexpr u32 kLongOffsets = 1 << 23, kShortOffsets = 1 << 12;
// More than gated buffers have, and no more than a sum with their constants has room for.
[[maybe_unused]] constexpr u32 kBehindEnd = 1u << 31;
// [LLVM AMDGPUUsage, "Code Object V5"]
constexpr u32 kCodeObjectVersion = 500;

// Inputs that a kernel could request from the hardware or the runtime, and these kernels do not.
// Without these attributes, LLVM assumes all of them. (Clusters are gfx1250's; a cluster's ids need
// the group's.) [LLVM AMDGPUUsage, "AMDGPU Attributes"]
constexpr const char* kUnwanted[] = {
    "amdgpu-no-dispatch-ptr",       "amdgpu-no-queue-ptr",         "amdgpu-no-implicitarg-ptr",
    "amdgpu-no-dispatch-id",        "amdgpu-no-heap-ptr",          "amdgpu-no-hostcall-ptr",
    "amdgpu-no-default-queue",      "amdgpu-no-completion-action", "amdgpu-no-lds-kernel-id",
    "amdgpu-no-multigrid-sync-arg", "amdgpu-no-flat-scratch-init", "amdgpu-no-cluster-id-x",
    "amdgpu-no-cluster-id-y",       "amdgpu-no-cluster-id-z"};

class AmdFrame final : public GpuFrame {
 public:
  AmdFrame(const LinearProgram& program, std::string_view chip)
      : GpuFrame(program),
        is_gfx9_(chip.starts_with("gfx9")),
        is_gfx10_(chip.starts_with("gfx10")),
        is_gfx12_(chip.starts_with("gfx12")) {}

  const FrameTraits& traits() const override {
    static constexpr FrameTraits kTraits{.native_f16 = true,
                                         .native_maximum = true,
                                         .offset_addresses = true,
                                         .byte_permutes = true,
                                         .unrolls_rings = true};
    return kTraits;
  }

  llvm::Function* make_function(llvm::Module& module) override {
    module.addModuleFlag(llvm::Module::Error, "amdhsa_code_object_version", kCodeObjectVersion);
    add_function(module, llvm::CallingConv::AMDGPU_KERNEL);
    add_attributes();
    return function_;
  }

  // Orders local memory only; stores to global memory need not be visible yet. [LLVM AMDGPUUsage,
  // "Memory Model", fences with address spaces]
  void barrier(llvm::IRBuilder<>& b) override {
    llvm::LLVMContext& context = b.getContext();
    const auto scope = context.getOrInsertSyncScopeID("workgroup");
    llvm::MDNode* local =
        llvm::MDNode::get(context, {llvm::MDString::get(context, "amdgpu-synchronize-as"),
                                    llvm::MDString::get(context, "local")});
    auto fence = [&](llvm::AtomicOrdering ordering) {
      b.CreateFence(ordering, scope)->setMetadata(llvm::LLVMContext::MD_mmra, local);
    };
    fence(llvm::AtomicOrdering::Release);
    call_intrinsic(b, llvm::Intrinsic::amdgcn_s_barrier);
    fence(llvm::AtomicOrdering::Acquire);
  }

  llvm::Value* matrix(llvm::IRBuilder<>& b, const TensorCore& core, llvm::Value* x, llvm::Value* y,
                      llvm::Value* sum) override {
    return multiply_matrices(b, core, x, y, sum);
  }

  // A buffer load: the addresses of its items in a vector register, what is the same for all in a
  // scalar one, and a constant that is the instruction's own. LLVM finds the constant only beside
  // what changes in the loop. So all that changes is in one vector register for the many narrow
  // loads of an operand, whose scalar register has the rest of the constant, which does not change.
  // Wide loads have few constants, and a vector register for each; gfx12's instructions have room
  // for them. Behind the buffer's end, zeros are loaded: there is the address of an item whose gate
  // is false. A negative constant is one of a buffer that begins earlier, where no gate is true.
  llvm::Instruction* load_in_step([[maybe_unused]] llvm::IRBuilder<>& b,
                                  [[maybe_unused]] llvm::Type* type, [[maybe_unused]] usize slot,
                                  [[maybe_unused]] const StepAddress& at) override {
    if (at.transposes) {
      llvm::Value* offset = b.CreateZExt(b.CreateAdd(at.of_item, at.of_all), b.getInt64Ty());
      llvm::Value* from =
          b.CreateInBoundsPtrAdd(function_->getArg(static_cast<unsigned>(slot)), offset);
      return load_transposing(
          b, type, b.CreateInBoundsPtrAdd(from, b.getInt64(static_cast<u64>(at.constant))));
    }
#if LLVM_VERSION_MAJOR >= 22
    const auto bits = static_cast<unsigned>(type->getPrimitiveSizeInBits().getFixedValue());
    if (!std::has_single_bit(bits) || bits < 8 || bits > 128) return nullptr;
    const ProgramParam& p = program_.params[slot];
    const i64 before =
        at.constant < 0 ? (-at.constant + kShortOffsets - 1) & -i64{kShortOffsets} : 0;
    if (at.gate && (p.count <= 0 || p.count * p.dtype.bytes() + before > INT32_MAX)) return nullptr;
    llvm::Type* words = b.getIntNTy(std::min(bits, 32u));
    if (bits > 32) words = llvm::FixedVectorType::get(words, bits / 32);
    llvm::Value *of_item = at.of_item, *of_all = at.of_all;
    if (at.gate) of_item = b.CreateSelect(at.gate, of_item, b.getInt32(kBehindEnd));
    u32 constant = static_cast<u32>(at.constant + before);
    const bool is_narrow = bits <= 16, is_own = is_gfx12_ && constant < kLongOffsets;
    if (is_narrow || is_own) {
      const u32 own = is_own ? constant : constant % kShortOffsets;
      of_item = b.CreateAdd(of_item, of_all), of_all = b.getInt32(constant - own);
      constant = own;
    }
    of_item = b.CreateAdd(of_item, b.getInt32(constant));
    return b.CreateIntrinsic(llvm::Intrinsic::amdgcn_raw_ptr_buffer_load, {words},
                             {buffer_of(slot, before), of_item, of_all, b.getInt32(0)});
#else
    return nullptr;
#endif
  }

  // [RDNA4 ISA, 11.6.2 "WMMA Load-Transpose Instructions"]
  llvm::Instruction* load_transposing(llvm::IRBuilder<>& b, llvm::Type* type,
                                      llvm::Value* address) override {
    const bool is_wide = type->getPrimitiveSizeInBits() == 128;
    llvm::Type* made = is_wide ? llvm::FixedVectorType::get(b.getInt16Ty(), 8)
                               : llvm::FixedVectorType::get(b.getInt32Ty(), 2);
    return b.CreateIntrinsic(is_wide ? llvm::Intrinsic::amdgcn_global_load_tr_b128
                                     : llvm::Intrinsic::amdgcn_global_load_tr_b64,
                             {made}, {address});
  }

  // V_PERM_B32 takes bytes 0 to 3 from its second source. [AMD "RDNA3 ISA", 16.9: V_PERM_B32]
  llvm::Value* permute(llvm::IRBuilder<>& b, llvm::Value* low, llvm::Value* high,
                       std::array<u8, 4> bytes) override {
    u32 selector = 0;
    for (usize i = 0; i < 4; ++i) selector |= u32{bytes[i]} << (8 * i);
    return b.CreateIntrinsic(llvm::Intrinsic::amdgcn_perm, llvm::ArrayRef<llvm::Type*>(),
                             {high, low, b.getInt32(selector)});
  }

 private:
  const Indices& indices() const override {
    using namespace llvm::Intrinsic;
    static constexpr Indices kIndices = {
        {amdgcn_workgroup_id_x, amdgcn_workgroup_id_y, amdgcn_workgroup_id_z},
        {amdgcn_workitem_id_x, amdgcn_workitem_id_y, amdgcn_workitem_id_z}};
    return kIndices;
  }

#if LLVM_VERSION_MAJOR >= 22
  // How buffer instructions access a Param: 32-bit elements, with bounds in bytes.
  u32 buffer_word3() const {
    if (is_gfx9_) return encode(amd::hw::BufferWord3Gfx9{})[0];
    return encode(amd::hw::BufferWord3Gfx10{.resource_level = is_gfx10_, .oob_select = 3})[0];
  }

  // A raw buffer over a Param and some bytes before it.
  llvm::Value* buffer_of(usize slot, i64 before) {
    llvm::Value*& made = buffers_[{slot, before}];
    if (made != nullptr) return made;
    llvm::IRBuilder<> entry(&function_->getEntryBlock());
    const ProgramParam& p = program_.params[slot];
    const i64 bytes = p.count > 0 ? p.count * p.dtype.bytes() + before : UINT32_MAX;
    llvm::Value* begin = function_->getArg(static_cast<unsigned>(slot));
    if (before > 0) begin = entry.CreatePtrAdd(begin, entry.getInt64(static_cast<u64>(-before)));
    llvm::Type* buffer = llvm::PointerType::get(function_->getContext(), kBufferSpace);
    return made = entry.CreateIntrinsic(
               llvm::Intrinsic::amdgcn_make_buffer_rsrc, {buffer, begin->getType()},
               {begin, entry.getInt16(0),
                entry.getInt64(static_cast<u64>(std::min<i64>(bytes, UINT32_MAX))),
                entry.getInt32(buffer_word3())});
  }
#endif

  void add_attributes() {
    const i64(&items)[3] = program_.group_items;
    const i64 all = items[0] * items[1] * items[2];
    function_->addFnAttr("amdgpu-flat-work-group-size", fmt::format("{},{}", all, all));
    function_->addFnAttr("uniform-work-group-size", "true");
    for (const char* name : kUnwanted) function_->addFnAttr(name);
    // Sums of matrices stay in vector registers, which hold operands too: LLVM 22 moves them in and
    // out of accumulation registers in loops. [LLVM AMDGPUUsage, "amdgpu-agpr-alloc"]
    if (is_gfx9_) function_->addFnAttr("amdgpu-agpr-alloc", "0");
    // By kind and axis, the ids that are read.
    bool used[2][3] = {};
    for (core::UOp u : program_.ops) {
      if (!u.is(core::Op::Special)) continue;
      const bool group = static_cast<core::SpecialKind>(u.arg(0)) == core::SpecialKind::GroupId;
      used[group ? 0 : 1][u.arg(1)] = true;
    }
    for (int axis = 0; axis < 3; ++axis) {
      const char name = static_cast<char>('x' + axis);
      if (!used[0][axis]) function_->addFnAttr(fmt::format("amdgpu-no-workgroup-id-{}", name));
      if (!used[1][axis]) function_->addFnAttr(fmt::format("amdgpu-no-workitem-id-{}", name));
    }
    llvm::MDBuilder metadata(function_->getContext());
    llvm::Type* i32 = llvm::Type::getInt32Ty(function_->getContext());
    llvm::Metadata* sizes[3];
    for (int axis = 0; axis < 3; ++axis) {
      sizes[axis] =
          metadata.createConstant(llvm::ConstantInt::get(i32, static_cast<u64>(items[axis])));
    }
    function_->setMetadata("reqd_work_group_size",
                           llvm::MDNode::get(function_->getContext(), sizes));
  }

  const bool is_gfx9_, is_gfx10_, is_gfx12_;
  std::map<std::pair<usize, i64>, llvm::Value*> buffers_;  // by slot, and bytes before it
};

}  // namespace

std::unique_ptr<KernelFrame> make_amd_frame(const LinearProgram& program, std::string_view chip) {
  return std::make_unique<AmdFrame>(program, chip);
}

}  // namespace doorbell::codegen
