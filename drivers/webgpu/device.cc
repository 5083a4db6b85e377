// A device and the programs loaded on it.
#include "drivers/webgpu/device.h"

#include <fmt/format.h>

#include <mutex>
#include <set>

#include "base/util/hash.h"
#include "base/util/try.h"
#include "core/device/caching_allocator.h"
#include "drivers/webgpu/program.h"

namespace doorbell::webgpu {
namespace {

// An image is this, the hash of the text, and the text.
constexpr u64 kMagic = 0x31'4c'53'47'57'42'52'44;  // "DRBWGSL1"
constexpr usize kHeaderBytes = 2 * sizeof(u64);

std::vector<u8> encode(std::string_view source) {
  std::vector<u8> image(kHeaderBytes + source.size());
  const u64 header[2] = {kMagic, hash_bytes(source.data(), source.size())};
  std::memcpy(image.data(), header, kHeaderBytes);
  std::copy(source.begin(), source.end(), image.begin() + kHeaderBytes);
  return image;
}

Result<std::string> decode(std::span<const u8> image) {
  u64 header[2] = {};
  if (image.size() < kHeaderBytes)
    return fail(ErrorKind::Corrupt, "WGSL image of {} bytes, expected at least {}", image.size(),
                kHeaderBytes);
  std::memcpy(header, image.data(), kHeaderBytes);
  const std::span<const u8> text = image.subspan(kHeaderBytes);
  const u64 hash = hash_bytes(text.data(), text.size());
  if (header[0] != kMagic || header[1] != hash)
    return fail(ErrorKind::Corrupt,
                "WGSL image with magic {:#x} and hash {:#x}, expected {:#x} and {:#x}", header[0],
                header[1], kMagic, hash);
  return std::string(text.begin(), text.end());
}

class Opened final : public WebGpuDevice {
 public:
  Opened(core::DeviceSpec spec, std::unique_ptr<Context> context, const Options& options)
      : WebGpuDevice(std::move(spec)),
        traced_(options.trace != nullptr && context->info().timestamps),
        context_(std::move(context)),
        bindings_(*context_),
        memory_(name(),
                std::make_unique<WebGpuAllocator>(*context_, name(),
                                                  [this](u64 id) { bindings_.forget_memory(id); }),
                options.max_cached) {}
  ~Opened() override { stop_queue(); }

  const DeviceInfo& info() const override { return context_->info(); }
  core::Allocator& allocator() override { return memory_; }
  Result<std::vector<u8>> build(std::string_view name, std::string_view source) override;
  Result<std::unique_ptr<core::Program>> load(const core::Binary& binary) override;
  Result<void> finish() override {
    TRY(context_->wait(context_->last()));
    return context_->take_error();
  }
  // Launches return at once, and their errors are rare.
  bool realize_waits() const override { return false; }
  u64 last_launch() override { return context_->last(); }
  u64 finished_launch() override {
    Context::Lock lock(context_->mutex());
    context_->flush();
    context_->poll();
    return context_->finished();
  }
  void submit_launches() override {
    Context::Lock lock(context_->mutex());
    context_->flush();
  }
  Result<void> launch_error() override { return context_->take_error(); }
  Result<void> usable() override { return context_->usable(); }
  bool adds_spans() const override { return traced_; }
  std::string description() const override;

 private:
  const bool traced_;
  const std::unique_ptr<Context> context_;
  BindingsCache bindings_;
  core::CachingAllocator memory_;

  std::mutex mutex_;             // guards the members below
  std::set<std::string> names_;  // of kernels; its nodes never move
  u64 programs_ = 0;
};

Result<std::vector<u8>> Opened::build(std::string_view name, std::string_view source) {
  TRY(context_->usable());
  Context::Lock lock(context_->mutex());
  TRY(make_module(*context_, name, source));
  return encode(source);
}

Result<std::unique_ptr<core::Program>> Opened::load(const core::Binary& binary) {
  TRY(context_->usable());
  TRY(std::string source, decode(binary.image));
  std::string_view kept;
  u64 number;
  {
    std::lock_guard lock(mutex_);
    kept = *names_.insert(binary.name).first;
    number = ++programs_;
  }
  return WebGpuProgram::make({this, context_.get(), &bindings_}, number, kept, std::move(source),
                             binary);
}

std::string Opened::description() const {
  const DeviceInfo& info = this->info();
  return fmt::format("{}, {}, {}{}{}{}{}{}", info.name, info.backend,
                     info.library.substr(info.library.rfind('/') + 1),
                     info.is_software ? ", software" : "", info.f16 ? ", f16" : "",
                     info.subgroups ? ", subgroups" : "", info.f64 ? ", f64" : "",
                     info.int64 ? ", 64-bit integers" : "");
}

// Of the process: devices of several instances know nothing of each other.
Result<Instance> process_instance(const Api& api) {
  static std::mutex& mutex = *new std::mutex;
  static Instance instance = nullptr;
  std::lock_guard lock(mutex);
  if (instance == nullptr) instance = api.CreateInstance(nullptr);
  if (instance == nullptr)
    return fail(ErrorKind::Os, "{} gives no instance of WebGPU", api.library);
  return instance;
}

}  // namespace

Result<std::unique_ptr<WebGpuDevice>> open_device(core::DeviceSpec spec, const Options& options) {
  TRY(const Api* api, load_api(options.libraries));
  TRY(const Instance instance, process_instance(*api));
  TRY(std::vector<FoundAdapter> found, find_adapters(*api, instance, options));
  usize index = static_cast<usize>(spec.ordinal);
  if (!spec.indices.empty()) {
    if (index >= spec.indices.size())
      return fail(ErrorKind::NotFound, "{}: DEV names {} WebGPU adapters", spec.name,
                  spec.indices.size());
    index = static_cast<usize>(spec.indices[index]);
  }
  if (index >= found.size())
    return fail(ErrorKind::NotFound, "{}: WebGPU adapter {} of {}", spec.name, index, found.size());
  TRY(std::unique_ptr<Context> context,
      Context::open(*api, instance, std::move(found[index]), spec.name, options.trace));
  return std::unique_ptr<WebGpuDevice>(
      std::make_unique<Opened>(std::move(spec), std::move(context), options));
}

}  // namespace doorbell::webgpu
