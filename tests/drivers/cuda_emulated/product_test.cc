// Products of warp groups whose tiles are copied by tensor maps, from the kernel's graph to the
// emulated driver: of parts of buffers, of sizes that end inside a box, in batches, and in graphs.
// All sums are exact in any order.
#include <cstring>

#include "codegen/compile/backend.h"
#include "codegen/compile/llvm_compiler.h"
#include "core/eval/eval.h"
#include "tests/codegen/render/nv_emulated.h"
#include "tests/codegen/support/kernels.h"
#include "tests/drivers/cuda_emulated/emulated_test.h"

namespace doorbell::cuda {
namespace {

using codegen::ProductSizes;

i64 left(i64 i) { return i * 7 % 9 - 4; }
i64 right(i64 i) { return (i * 5 + i / 16) % 7 - 3; }

// `count` numbers of f16, behind so many bytes.
std::vector<u8> halves(i64 count, i64 (*value)(i64), usize offset) {
  std::vector<u8> bytes(offset + static_cast<usize>(count) * 2);
  for (i64 i = 0; i < count; ++i)
    core::store_scalar(core::ScalarValue::of_float(core::dtypes::f16, static_cast<f64>(value(i))),
                       &bytes[offset + static_cast<usize>(i) * 2]);
  return bytes;
}

struct Product {
  ProductSizes sizes;
  bool transposed;
  i64 results() const { return sizes.batch * sizes.m * sizes.n; }
};

class ProductTest : public EmulatedTest, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    if (GetParam() == std::string_view("PTX") && !codegen::has_llvm()) GTEST_SKIP() << "needs LLVM";
    nv_ = std::make_unique<codegen::testing::NvToolchain>(
        codegen::testing::make_nv_toolchain(GetParam(), "sm_90", true));
    if (!nv_->compiler) GTEST_SKIP() << nv_->compiler.error().message;
  }
  // For memory that begins at multiples of 16 bytes, or at any element.
  Result<core::Binary> compile(const Product& p, bool aligned) const {
    const codegen::Backend backend{.renderer = nv_->renderer.get(),
                                   .compiler = nv_->compiler->get(),
                                   .caps = nv_->renderer->caps(),
                                   .load = false};
    auto made = codegen::compile_kernel(
        codegen::narrow_product_kernel(core::dtypes::f16, p.sizes, p.transposed), backend,
        {.lower = {.aligned = aligned}});
    if (!made) return made.error();
    EXPECT_EQ(made->binary.tensor_maps.size(), aligned ? 2u : 0u) << made->plan;
    return std::move(made->binary);
  }
  std::unique_ptr<core::Program> load(CudaDevice& device, const Product& p) const {
    Result<core::Binary> binary = compile(p, true);
    EXPECT_TRUE(binary) << (binary ? "" : to_string(binary.error()));
    binary->unaligned = [this, p] { return compile(p, false); };
    return std::move(*device.load(*binary));
  }
  static Ref<Buffer> buffer(CudaDevice& device, const std::vector<u8>& bytes) {
    Ref<Buffer> made = *Buffer::allocate(device, static_cast<i64>(bytes.size()));
    EXPECT_TRUE(made->copy_in(bytes.data(), static_cast<i64>(bytes.size())));
    return made;
  }
  // Every element; the factors are left() and right(), the latter times `factor`.
  static void expect(const Product& p, const Buffer& out, i64 factor = 1) {
    const ProductSizes& s = p.sizes;
    std::vector<f32> got(static_cast<usize>(p.results()));
    ASSERT_TRUE(out.copy_out(got.data(), p.results() * 4));
    for (i64 at = 0; at < p.results(); ++at) {
      const i64 b = at / (s.m * s.n), i = at / s.n % s.m, j = at % s.n;
      i64 want = 0;
      for (i64 d = 0; d < s.k; ++d) {
        const i64 y = p.transposed ? (b * s.n + j) * s.k + d : (b * s.k + d) * s.n + j;
        want += left((b * s.m + i) * s.k + d) * right(y) * factor;
      }
      ASSERT_EQ(got[static_cast<usize>(at)], static_cast<f32>(want)) << b << ", " << i << ", " << j;
    }
  }
  static i64 of_left(const Product& p) { return p.sizes.batch * p.sizes.m * p.sizes.k; }
  static i64 of_right(const Product& p) { return p.sizes.batch * p.sizes.n * p.sizes.k; }

  std::unique_ptr<codegen::testing::NvToolchain> nv_;
};

TEST_P(ProductTest, OfPartsOfBuffers) {
  const auto device = open(0);
  for (const bool transposed : {false, true}) {
    const Product p{{1, 128, 256, 512}, transposed};
    const auto program = load(*device, p);
    // At a multiple of 16 bytes; at none, without maps then.
    for (const i64 offset : {0, 48, 2}) {
      SCOPED_TRACE(offset);
      const Ref<Buffer> x = buffer(*device, halves(of_left(p), left, static_cast<usize>(offset))),
                        y = buffer(*device, halves(of_right(p), right, static_cast<usize>(offset))),
                        out = *Buffer::allocate(*device, p.results() * 4);
      const core::BufferView views[] = {{out.get(), 0}, {x.get(), offset}, {y.get(), offset}};
      ASSERT_TRUE(program->launch(views, {}));
      expect(p, *out);
    }
  }
}

TEST_P(ProductTest, OfOddSizesAndBatches) {
  const auto device = open(0);
  for (const Product& p : {Product{{1, 100, 72, 320}, false},
                           {{3, 100, 200, 192}, true},
                           {{2, 64, 512, 384}, false}}) {
    SCOPED_TRACE(p.sizes.n);
    const auto program = load(*device, p);
    const Ref<Buffer> x = buffer(*device, halves(of_left(p), left, 0)),
                      y = buffer(*device, halves(of_right(p), right, 0)),
                      out = *Buffer::allocate(*device, p.results() * 4);
    const core::BufferView views[] = {{out.get(), 0}, {x.get(), 0}, {y.get(), 0}};
    ASSERT_TRUE(program->launch(views, {}));
    expect(p, *out);
  }
}

// Each run of four launches has two of its buffers changed; the third run patches a graph.
TEST_P(ProductTest, OfAGraphWithOtherBuffers) {
  const auto device = open(0);
  const Product p{{1, 64, 256, 384}, false};
  const auto program = load(*device, p);
  const auto twice = [](i64 i) { return 2 * right(i); };
  const Ref<Buffer> x = buffer(*device, halves(of_left(p), left, 0)),
                    y = buffer(*device, halves(of_right(p), right, 0)),
                    z = buffer(*device, halves(of_right(p), twice, 0));
  hcq::Queue& queue = device->compute_queue();
  const auto commands = queue.make_commands();
  const hcq::Operand slots[] = {hcq::Operand::of_slot(0), hcq::Operand::of_slot(1),
                                hcq::Operand::of_slot(2)};
  for (int i = 0; i < 4; ++i) {
    commands->memory_barrier();
    commands->exec({program.get(), slots, {}});
  }
  const auto bound = *hcq::ResidentCommands::bind(queue, *commands, 1);
  for (const i64 factor : {1, 1, 2, 1, 2}) {
    const Ref<Buffer> out = buffer(*device, std::vector<u8>(static_cast<usize>(p.results()) * 4));
    const u64 now[] = {out->memory().address, x->memory().address,
                       (factor == 1 ? y : z)->memory().address};
    run(queue, *bound, now);
    expect(p, *out, factor);
  }
  EXPECT_EQ(emu::cuda::driver()->executables.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Renderers, ProductTest, ::testing::Values("CUDA", "PTX"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace doorbell::cuda
