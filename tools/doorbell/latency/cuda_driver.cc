// The same kernel without Doorbell's queues: launched by the CUDA driver API on a stream, and as
// CUDA graphs. On other devices there is nothing to compare with.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <memory>

#include "drivers/cuda/device.h"
#include "drivers/cuda/program.h"
#include "tensor/engine/must.h"
#include "tools/doorbell/latency/kernel.h"
#include "tools/doorbell/latency/measured.h"

namespace doorbell::tools::latency {
namespace {

using engine::must;

constexpr i64 kNodes[] = {1, 10, 100, 1000};
constexpr usize kSlots = 2;  // buffers of the kernel
// Launches that nothing waits for: as many as a stream takes without blocking.
constexpr usize kMaxLaunches = 64;

// Arguments of one launch, as the driver API takes them. Points into itself.
struct Arguments {
  std::array<u64, kSlots> addresses;  // by slot of the kernel
  usize bytes = sizeof addresses;
  void* extra[5] = {cuda::kParamBufferPointer, addresses.data(), cuda::kParamBufferSize, &bytes,
                    cuda::kParamEnd};

  // Odd turns swap what is read and what is written, so that each launch reads the last result.
  Arguments(cuda::CudaDevice& device, const TestKernel& kernel, i64 turn) {
    for (usize slot = 0; slot < kSlots; ++slot)
      addresses[slot] = kernel.address(device, kernel.outputs()[slot] == (turn % 2 == 0)).value;
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
};

// A stream of its own, with the device's context current while it lives.
class Stream {
 public:
  explicit Stream(cuda::CudaDevice& device)
      : device_(device), current_(device.context()), kernel_(device) {
    must(device.synchronize());  // the kernel's memory is filled by a queue
    const Arguments first = arguments(0);
    const auto words = std::bit_cast<std::array<u32, 2 * kSlots>>(first.addresses);
    shape_ = &must(static_cast<const cuda::CudaProgram&>(kernel_.program()).form_for(words.data()))
                  ->shape();
    check(api().cuStreamCreate(&stream_, cuda::kStreamNonBlocking), "cuStreamCreate");
  }
  ~Stream() {
    (void)api().cuStreamSynchronize(stream_);
    (void)api().cuStreamDestroy(stream_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  const cuda::Api& api() const { return device_.context().api(); }
  void check(cuda::CUresult result, const char* call) const {
    must(device_.context().check(result, call));
  }
  const cuda::KernelNodeParams& shape() const { return *shape_; }
  Arguments arguments(i64 turn) const { return {device_, kernel_, turn}; }
  void launch(Arguments& arguments) const {
    const cuda::KernelNodeParams& k = shape();
    check(api().cuLaunchKernel(k.func, k.grid_x, k.grid_y, k.grid_z, k.block_x, k.block_y,
                               k.block_z, k.shared_bytes, stream_, nullptr, arguments.extra),
          "cuLaunchKernel");
  }
  void launch(cuda::CUgraphExec graph) const {
    check(api().cuGraphLaunch(graph, stream_), "cuGraphLaunch");
  }
  void wait() const { check(api().cuStreamSynchronize(stream_), "cuStreamSynchronize"); }

 private:
  cuda::CudaDevice& device_;
  const cuda::Current current_;
  const TestKernel kernel_;
  const cuda::KernelNodeParams* shape_ = nullptr;  // the program's
  cuda::CUstream stream_ = nullptr;
};

// A chain of kernels, each after the one before.
class Chain {
 public:
  Chain(const Stream& stream, i64 nodes) : stream_(stream) {
    const cuda::Api& api = stream.api();
    stream.check(api.cuGraphCreate(&graph_, 0), "cuGraphCreate");
    cuda::CUgraphNode before = nullptr;
    for (i64 node = 0; node < nodes; ++node) {
      Arguments arguments = stream.arguments(node);
      cuda::KernelNodeParams params = stream.shape();
      params.extra = arguments.extra;
      cuda::CUgraphNode added = nullptr;
      stream.check(
          api.cuGraphAddKernelNode(&added, graph_, &before, before == nullptr ? 0 : 1, &params),
          "cuGraphAddKernelNode");
      before = added;
    }
    stream.check(api.cuGraphInstantiateWithFlags(&executable_, graph_, 0),
                 "cuGraphInstantiateWithFlags");
  }
  ~Chain() {
    (void)stream_.api().cuGraphExecDestroy(executable_);
    (void)stream_.api().cuGraphDestroy(graph_);
  }
  Chain(const Chain&) = delete;
  Chain& operator=(const Chain&) = delete;

  cuda::CUgraphExec executable() const { return executable_; }

 private:
  const Stream& stream_;
  cuda::CUgraph graph_ = nullptr;
  cuda::CUgraphExec executable_ = nullptr;
};

// `submit` on the stream; samples contain the wait for it, or it follows them.
template <class Submit>
Distribution time_of(const Stream& stream, Sampling sampling, bool waits, const Submit& submit) {
  if (waits)
    return sample(
        [&] {
          submit();
          stream.wait();
        },
        sampling);
  sampling.max_calls = kMaxLaunches;
  return sample(submit, sampling, [&] { stream.wait(); });
}

Distribution launches(cuda::CudaDevice& device, const Sampling& sampling, bool waits) {
  const Stream stream(device);
  Arguments arguments = stream.arguments(0);
  return time_of(stream, sampling, waits, [&] { stream.launch(arguments); });
}

Distribution graphs(cuda::CudaDevice& device, const Sampling& sampling, bool waits, i64 nodes) {
  const Stream stream(device);
  const Chain chain(stream, nodes);
  return time_of(stream, sampling, waits, [&] { stream.launch(chain.executable()); });
}

}  // namespace

std::vector<Series> measure_cuda(const Request& request) {
  auto* const device = dynamic_cast<cuda::CudaDevice*>(&request.device);
  if (device == nullptr) return {};
  std::vector<Series> all;
  for (const bool waits : {false, true}) {
    const char* part = waits ? "run" : "launch";
    Series one{fmt::format("cuda.{}", part), "cuda",
               waits ? "CUDA: cuLaunchKernel, and synchronize" : "CUDA: cuLaunchKernel"};
    all.push_back(measured(request, std::move(one),
                           [&] { return launches(*device, request.sampling, waits); }));
    for (const i64 nodes : kNodes) {
      Series chain{fmt::format("cuda.graph_{}.{}", part, nodes), "cuda",
                   fmt::format("CUDA: graph of {} kernel{}, {}", nodes, nodes == 1 ? "" : "s",
                               waits ? "until it is done" : "launch")};
      chain.nodes = nodes;
      all.push_back(measured(request, std::move(chain),
                             [&] { return graphs(*device, request.sampling, waits, nodes); }));
    }
  }
  return all;
}

}  // namespace doorbell::tools::latency
