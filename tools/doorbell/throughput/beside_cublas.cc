// cuBLAS by dlopen. Its calls are on a device's compute stream, in the device's context.
#include "tools/doorbell/throughput/beside_cublas.h"

#include <fmt/format.h>

#include "base/os/library.h"
#include "base/util/stop.h"
#include "base/util/try.h"
#include "drivers/cuda/device.h"
#include "tensor/api/tensor.h"
#include "tensor/engine/must.h"
#include "tensor/engine/realize.h"
#include "tools/doorbell/throughput/cublas_api.h"
#include "tools/doorbell/throughput/workload.h"

namespace doorbell::tools::throughput {
namespace {

// How cuBLAS multiplies a dtype. Sums are of 32 bits, as ours are.
struct Kind {
  core::DType dtype;
  bool is_tf32;
  int operand, result, compute;
};
constexpr Kind kKinds[] = {
    {dtypes::f32, false, cublas::kR32F, cublas::kR32F, cublas::kCompute32F},
    {dtypes::f32, true, cublas::kR32F, cublas::kR32F, cublas::kCompute32FFastTf32},
    {dtypes::f16, false, cublas::kR16F, cublas::kR16F, cublas::kCompute32F},
    {dtypes::bf16, false, cublas::kR16BF, cublas::kR16BF, cublas::kCompute32F},
    {dtypes::i8, false, cublas::kR8I, cublas::kR32I, cublas::kCompute32I},
};

const Kind* find_kind(core::DType dtype, bool is_tf32) {
  for (const Kind& kind : kKinds)
    if (kind.dtype == dtype && kind.is_tf32 == is_tf32) return &kind;
  return nullptr;
}

void* address_of(const Tensor& tensor) {
  return reinterpret_cast<void*>(engine::buffer_of(*tensor.uop()).memory().address);
}

Error refused(const char* call, int status) {
  return fail(ErrorKind::Os, "{} returned status {}; cublas_api.h, cublasStatus_t, has its meaning",
              call, status);
}

}  // namespace

class BesideCublas::Library {
 public:
  static Result<std::unique_ptr<Library>> open(cuda::CudaDevice& device) {
    const std::string names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"};
    TRY(os::Library library, os::Library::open(names));
    std::unique_ptr<Library> opened(new Library(device, std::move(library)));
    TRY(opened->start());
    return opened;
  }
  ~Library() {
    if (handle_ == nullptr) return;
    const cuda::Current current(device_.context());
    (void)destroy_(handle_);
  }

  std::string description() const {
    int version = 0;
    const cuda::Current current(device_.context());
    (void)version_(handle_, &version);
    return fmt::format("cuBLAS {} ({})", version, library_.name());
  }

  // Throws.
  Distribution multiply(const Kind& kind, i64 n, const Sampling& sampling) {
    const TensorOptions on{.device = device_.name()};
    const auto operand = [&] {
      return Tensor::randn({n, n}, on).cast(kind.dtype).contiguous().realize();
    };
    const Tensor a = operand(), b = operand();
    const bool is_int = kind.result == cublas::kR32I;
    const Tensor c = Tensor::empty(
        {n, n}, {.dtype = is_int ? dtypes::i32 : kind.dtype, .device = device_.name()});
    engine::must(device_.synchronize());
    const f32 one = 1, zero = 0;
    const i32 int_one = 1, int_zero = 0;
    const void* const alpha = is_int ? static_cast<const void*>(&int_one) : &one;
    const void* const beta = is_int ? static_cast<const void*>(&int_zero) : &zero;
    const int size = static_cast<int>(n);
    const cuda::Current current(device_.context());
    // By rows, a b is what b a is by columns.
    const auto call = [&] {
      const int status =
          gemm_(handle_, cublas::kNotTransposed, cublas::kNotTransposed, size, size, size, alpha,
                address_of(b), kind.operand, size, address_of(a), kind.operand, size, beta,
                address_of(c), kind.result, size, kind.compute, cublas::kDefaultAlgorithm);
      if (status != cublas::kSuccess) throw refused("cublasGemmEx", status);
    };
    const auto wait = [&] {
      cuda::Context& context = device_.context();
      engine::must(context.check(context.api().cuStreamSynchronize(device_.compute_stream()),
                                 "cuStreamSynchronize"));
    };
    return measure_calls(call, wait, sampling);
  }

 private:
  Library(cuda::CudaDevice& device, os::Library library)
      : device_(device), library_(std::move(library)) {}

  Result<void> start() {
    TRY(cublas::Create * create, library_.function<cublas::Create>("cublasCreate_v2"));
    TRY(destroy_, library_.function<cublas::Destroy>("cublasDestroy_v2"));
    TRY(version_, library_.function<cublas::GetVersion>("cublasGetVersion_v2"));
    TRY(cublas::SetStream * set_stream, library_.function<cublas::SetStream>("cublasSetStream_v2"));
    TRY(gemm_, library_.function<cublas::GemmEx>("cublasGemmEx"));
    const cuda::Current current(device_.context());
    if (const int status = create(&handle_); status != cublas::kSuccess)
      return refused("cublasCreate", status);
    if (const int status = set_stream(handle_, device_.compute_stream());
        status != cublas::kSuccess)
      return refused("cublasSetStream", status);
    return {};
  }

  cuda::CudaDevice& device_;
  os::Library library_;
  cublas::Handle handle_ = nullptr;
  cublas::Destroy* destroy_ = nullptr;
  cublas::GetVersion* version_ = nullptr;
  cublas::GemmEx* gemm_ = nullptr;
};

BesideCublas::BesideCublas(core::Device& device) {
  auto* const cuda = dynamic_cast<cuda::CudaDevice*>(&device);
  if (cuda == nullptr) return;
  is_cuda_ = true;
  Result<std::unique_ptr<Library>> opened = Library::open(*cuda);
  if (opened) {
    library_ = std::move(*opened);
    note_ = library_->description();
  } else {
    note_ = "nothing to compare with: " + opened.error().message;
  }
}

BesideCublas::~BesideCublas() = default;

std::vector<std::string> BesideCublas::columns() const {
  if (!is_cuda_) return {};
  return {"cuBLAS us", "cuBLAS TF32 us"};
}

std::vector<Cell> BesideCublas::times_us(core::DType dtype, i64 n, const Sampling& sampling) {
  std::vector<Cell> cells;
  if (!is_cuda_) return cells;
  for (const bool is_tf32 : {false, true}) {
    cells.emplace_back();
    const Kind* const kind = find_kind(dtype, is_tf32);
    if (library_ == nullptr || kind == nullptr) continue;
    try {
      cells.back() = library_->multiply(*kind, n, sampling).median() / 1e3;
    } catch (const Stopped&) {
      throw;
    } catch (const Error& error) {
      cells.back() = error.message;
    }
  }
  return cells;
}

}  // namespace doorbell::tools::throughput
