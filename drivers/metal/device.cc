// A device, and the pipelines compiled for it.
#include "drivers/metal/device.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <set>

#include "base/util/hash.h"
#include "base/util/try.h"
#include "core/device/caching_allocator.h"
#include "drivers/metal/indirect.h"
#include "drivers/metal/program.h"

namespace doorbell::metal {
namespace {

class Opened final : public MetalDevice {
 public:
  Opened(core::DeviceSpec spec, std::unique_ptr<Context> context, const Options& options)
      : MetalDevice(std::move(spec)),
        is_traced_(options.trace != nullptr),
        context_(std::move(context)) {
    auto memory = std::make_unique<MetalAllocator>(*context_, name());
    buffers_ = memory.get();
    memory_ =
        std::make_unique<core::CachingAllocator>(name(), std::move(memory), options.max_cached);
  }
  ~Opened() override { stop_queue(); }

  const DeviceInfo& info() const override { return context_->info(); }
  core::Allocator& allocator() override { return *memory_; }
  Result<std::vector<u8>> build(std::string_view name, std::string_view source) override;
  Result<i64> max_workgroup_size(std::string_view name, std::span<const u8> image) override;
  Result<std::unique_ptr<core::Program>> load(const core::Binary& binary) override;
  Result<core::Allocation> foreign_memory(void* memory, i64 bytes) override {
    return buffers_->wrap(memory, bytes);
  }
  Result<void> finish() override {
    TRY(context_->wait(context_->last()));
    return context_->take_error();
  }
  // Launches return at once, and their errors are rare.
  bool realize_waits() const override { return false; }
  u64 last_launch() override { return context_->last(); }
  u64 finished_launch() override {
    const Pool pool(context_->api());
    Context::Lock lock(context_->mutex());
    context_->flush();
    context_->poll();
    return context_->finished();
  }
  void submit_launches() override {
    const Pool pool(context_->api());
    Context::Lock lock(context_->mutex());
    context_->flush();
  }
  Result<std::unique_ptr<hcq::LaunchBatch>> make_batch(usize launches) override {
    return IndirectLaunches::make(*context_, launches);
  }
  Result<void> launch_error() override { return context_->take_error(); }
  Result<void> usable() override { return context_->usable(); }
  bool adds_spans() const override { return is_traced_; }
  std::string description() const override {
    return fmt::format("{}{}{}", info().name, info().unified ? ", unified memory" : "",
                       info().bfloat ? ", bfloat" : "");
  }

 private:
  Result<Owned> compile(std::string_view name, std::string_view source);
  // What build() compiled, or compiled now.
  Result<Id> pipeline_of(std::string_view name, std::span<const u8> image);

  const bool is_traced_;
  const std::unique_ptr<Context> context_;
  MetalAllocator* buffers_;  // memory_ owns it
  std::unique_ptr<core::CachingAllocator> memory_;

  std::mutex mutex_;                // guards the members below
  std::set<std::string> names_;     // of kernels; its nodes never move
  std::map<u64, Owned> pipelines_;  // by the hash of the text, for all programs of it
};

Result<Owned> Opened::compile(std::string_view name, std::string_view source) {
  const Api& api = context_->api();
  TRY(context_->usable());
  const auto refuse = [&](std::string_view call, Id reason) {
    Error error =
        fail(ErrorKind::Compile, "kernel {}: {}: {}\n{}", name, call, api.reason(reason), source);
    error.device = this->name();
    return error;
  };
  const Owned options(api, api.send<Id>(api.compile_options, api.sel.new_object));
  // Infinities, NaNs, and roots and quotients that are rounded once [MSL 4, 1.6.3; 8].
  api.send(options.get(), api.sel.set_fast_math, false);
  if (info().bfloat) api.send(options.get(), api.sel.set_language, kLanguage3_1);
  Id reason = nullptr;
  const Owned library(
      api, api.send<Id>(context_->device(), api.sel.new_library, api.string_of(std::string(source)),
                        options.get(), &reason));
  if (library.get() == nullptr) return refuse("newLibraryWithSource", reason);
  const Owned function(
      api, api.send<Id>(library.get(), api.sel.new_function, api.string_of(std::string(name))));
  if (function.get() == nullptr) return refuse("newFunctionWithName", nullptr);
  const Owned descriptor(api, api.send<Id>(api.pipeline_descriptor, api.sel.new_object));
  api.send(descriptor.get(), api.sel.set_function, function.get());
  api.send(descriptor.get(), api.sel.set_indirect, info().indirect);
  Owned pipeline(api, api.send<Id>(context_->device(), api.sel.new_pipeline_of, descriptor.get(),
                                   u64{0}, nullptr, &reason));
  if (pipeline.get() == nullptr) return refuse("newComputePipelineStateWithDescriptor", reason);
  return pipeline;
}

Result<Id> Opened::pipeline_of(std::string_view name, std::span<const u8> image) {
  const u64 key = hash_bytes(image.data(), image.size());
  {
    std::lock_guard lock(mutex_);
    if (const auto found = pipelines_.find(key); found != pipelines_.end())
      return found->second.get();
  }
  // Without the lock: Metal compiles on several threads.
  TRY(Owned made, compile(name, {reinterpret_cast<const char*>(image.data()), image.size()}));
  std::lock_guard lock(mutex_);
  return pipelines_.emplace(key, std::move(made)).first->second.get();
}

Result<std::vector<u8>> Opened::build(std::string_view name, std::string_view source) {
  const Pool pool(context_->api());
  std::vector<u8> image(source.begin(), source.end());
  TRY(pipeline_of(name, image));
  return image;
}

Result<i64> Opened::max_workgroup_size(std::string_view name, std::span<const u8> image) {
  const Pool pool(context_->api());
  TRY(const Id pipeline, pipeline_of(name, image));
  return static_cast<i64>(context_->api().send<u64>(pipeline, context_->api().sel.max_items));
}

Result<std::unique_ptr<core::Program>> Opened::load(const core::Binary& binary) {
  const Pool pool(context_->api());
  TRY(const Id pipeline, pipeline_of(binary.name, binary.image));
  std::string_view kept;
  {
    std::lock_guard lock(mutex_);
    kept = *names_.insert(binary.name).first;
  }
  return MetalProgram::make(*this, *context_, kept, Owned::retained(context_->api(), pipeline),
                            binary);
}

}  // namespace

Result<std::unique_ptr<MetalDevice>> open_device(core::DeviceSpec spec, const Api& api,
                                                 const Options& options) {
  TRY(api.check_process());
  usize index = static_cast<usize>(spec.ordinal);
  if (!spec.indices.empty()) {
    if (index >= spec.indices.size())
      return fail(ErrorKind::NotFound, "{}: DEV names {} Metal devices", spec.name,
                  spec.indices.size());
    index = static_cast<usize>(spec.indices[index]);
  }
  TRY(std::unique_ptr<Context> context, Context::open(api, index, spec.name, options));
  return std::unique_ptr<MetalDevice>(
      std::make_unique<Opened>(std::move(spec), std::move(context), options));
}

}  // namespace doorbell::metal
