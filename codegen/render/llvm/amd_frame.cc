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
  // scalar one. Where the constant fits the instruction, one vector register serves all loads of an
  // operand: LLVM finds the constant only beside what changes in the loop, so all of the sum is in
  // that register. Of 16 bits only on gfx9: later chips load both halves of a register in place.
  llvm::Instruction* load_in_step([[maybe_unused]] llvm::IRBuilder<>& b,
                                  [[maybe_unused]] llvm::Type* type, [[maybe_unused]] usize slot,
                                  [[maybe_unused]] const StepAddress& at) override {
#if LLVM_VERSION_MAJOR >= 22
    const auto bits = static_cast<unsigned>(type->getPrimitiveSizeInBits().getFixedValue());
    if (bits != 32 && bits != 64 && bits != 128 && !(bits == 16 && is_gfx9_)) return nullptr;
    llvm::Type* words = bits == 16 ? b.getInt16Ty() : b.getInt32Ty();
    if (bits > 32) words = llvm::FixedVectorType::get(words, bits / 32);
    llvm::Value *of_item = at.of_item, *of_all = at.of_all;
    if (at.constant < (is_gfx12_ ? kLongOffsets : bits == 16 ? kShortOffsets : 0))
      of_item = b.CreateAdd(of_item, of_all), of_all = b.getInt32(0);
    of_item = b.CreateAdd(of_item, b.getInt32(at.constant));
    return b.CreateIntrinsic(llvm::Intrinsic::amdgcn_raw_ptr_buffer_load, {words},
                             {buffer_of(slot), of_item, of_all, b.getInt32(0)});
#else
    return nullptr;
#endif
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

  // A raw buffer over a Param.
  llvm::Value* buffer_of(usize slot) {
    buffers_.resize(program_.params.size());
    if (buffers_[slot] != nullptr) return buffers_[slot];
    llvm::IRBuilder<> entry(&function_->getEntryBlock());
    const ProgramParam& p = program_.params[slot];
    const i64 bytes = p.count > 0 ? p.count * p.dtype.bytes() : UINT32_MAX;
    llvm::Argument* argument = function_->getArg(static_cast<unsigned>(slot));
    llvm::Type* buffer = llvm::PointerType::get(function_->getContext(), kBufferSpace);
    return buffers_[slot] = entry.CreateIntrinsic(
               llvm::Intrinsic::amdgcn_make_buffer_rsrc, {buffer, argument->getType()},
               {argument, entry.getInt16(0),
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
  std::vector<llvm::Value*> buffers_;  // by slot of a Param
};

}  // namespace

std::unique_ptr<KernelFrame> make_amd_frame(const LinearProgram& program, std::string_view chip) {
  return std::make_unique<AmdFrame>(program, chip);
}

}  // namespace doorbell::codegen
