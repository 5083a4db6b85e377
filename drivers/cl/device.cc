// A context with two queues, and the programs compiled for it.
#include "drivers/cl/device.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <set>

#include "base/os/host.h"
#include "base/util/hash.h"
#include "base/util/try.h"
#include "core/device/caching_allocator.h"
#include "drivers/cl/discover.h"
#include "drivers/cl/image.h"
#include "drivers/cl/program.h"

namespace doorbell::cl {
namespace {

struct Handles {
  Owned<cl_context> context;
  Owned<cl_command_queue> compute, transfer;
};

class Opened final : public ClDevice {
 public:
  Opened(core::DeviceSpec spec, const Api& api, Found found, Handles handles,
         const Options& options, i64 clock_offset_ns);
  ~Opened() override;

  const DeviceInfo& info() const override { return found_.info; }
  core::Allocator& allocator() override { return memory_; }
  Result<std::vector<u8>> build(std::string_view name, std::string_view source) override;
  Result<i64> max_workgroup_size(const std::string& name, std::span<const u8> image) override;
  std::string build_key() const override;
  Result<std::unique_ptr<core::Program>> load(const core::Binary& binary) override;
  Result<void> finish() override;
  // Launches return at once, and their errors are rare.
  bool realize_waits() const override { return false; }
  u64 last_launch() override { return computing_.last(); }
  u64 finished_launch() override { return computing_.finished(); }
  Result<void> launch_error() override { return computing_.take_error(); }
  Result<void> usable() override { return api_.check_process(); }
  // Events have times of the device's own.
  bool adds_spans() const override { return trace_ != nullptr; }
  std::string description() const override;

 private:
  Result<Owned<cl_program>> compile(cl_program created, std::string_view name,
                                    std::string_view source);
  Result<Owned<cl_program>> compile_source(std::string_view name, std::string_view source);
  Result<Owned<cl_program>> program_of(const std::string& name, std::span<const u8> image);
  void keep_built(std::span<const u8> image, Owned<cl_program> program);
  std::string build_log(cl_program program) const;
  const char* build_options() const;
  Queues queues();

  const Api& api_;
  const Found found_;
  const Handles handles_;
  hcq::Trace* const trace_;
  std::mutex order_;
  EventLog computing_, transferring_;
  core::CachingAllocator memory_;

  std::mutex mutex_;             // guards the members below
  std::set<std::string> names_;  // of kernels; its nodes never move
  // Programs that build() compiled and load() has not used yet, by the image's hash.
  std::map<u64, Owned<cl_program>> built_;
};

Opened::Opened(core::DeviceSpec spec, const Api& api, Found found, Handles handles,
               const Options& options, i64 clock_offset_ns)
    : ClDevice(std::move(spec)),
      api_(api),
      found_(std::move(found)),
      handles_(std::move(handles)),
      trace_(options.trace),
      computing_(api, {options.trace, name(), "compute", clock_offset_ns}),
      transferring_(api, {options.trace, name(), "copy", clock_offset_ns}),
      memory_(name(), std::make_unique<ClAllocator>(api, found_.info, name(), queues()),
              options.max_cached) {}

// No work may run in a destroyed context.
Opened::~Opened() {
  stop_queue();
  if (!api_.process.is_same_process()) return;
  api_.clFinish(handles_.transfer.get());
  api_.clFinish(handles_.compute.get());
}

Queues Opened::queues() {
  return {handles_.context.get(),  handles_.compute.get(),
          handles_.transfer.get(), &computing_,
          &transferring_,          &order_};
}

const char* Opened::build_options() const {
  return found_.info.rounds_division ? "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt"
                                     : "-cl-std=CL1.2";
}

std::string Opened::build_key() const {
  const DeviceInfo& info = found_.info;
  return fmt::format("{}; {}; {}; {}; {}", info.platform, info.version, info.name, info.driver,
                     build_options());
}

std::string Opened::build_log(cl_program program) const {
  usize size = 0;
  api_.clGetProgramBuildInfo(program, found_.device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
  std::string log(size, '\0');
  if (size > 0)
    api_.clGetProgramBuildInfo(program, found_.device, CL_PROGRAM_BUILD_LOG, size, log.data(),
                               nullptr);
  while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
  return log.empty() ? "(it left no log)" : log;
}

// Takes over `created`.
Result<Owned<cl_program>> Opened::compile(cl_program created, std::string_view name,
                                          std::string_view source) {
  Owned<cl_program> program(created, api_.clReleaseProgram);
  const cl_int code =
      api_.clBuildProgram(created, 1, &found_.device, build_options(), nullptr, nullptr);
  if (code == CL_SUCCESS) return program;
  Error error = fail(code == CL_INVALID_BINARY ? ErrorKind::Corrupt : ErrorKind::Compile,
                     "kernel {}: clBuildProgram: {}: {} says\n{}\n{}", name, error_name(code),
                     found_.info.platform, build_log(created), source);
  error.device = this->name();
  return error;
}

Result<Owned<cl_program>> Opened::compile_source(std::string_view name, std::string_view source) {
  TRY(api_.check_process());
  const char* text = source.data();
  const usize size = source.size();
  cl_int code = CL_SUCCESS;
  cl_program created =
      api_.clCreateProgramWithSource(handles_.context.get(), 1, &text, &size, &code);
  if (code != CL_SUCCESS) return refusal(code, "clCreateProgramWithSource", name);
  return compile(created, name, source);
}

Result<std::vector<u8>> Opened::build(std::string_view name, std::string_view source) {
  TRY(Owned<cl_program> program, compile_source(name, source));
  std::vector<u8> binary;
  usize size = 0;
  // Without a binary the image is its source.
  if (api_.clGetProgramInfo(program.get(), CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr) ==
          CL_SUCCESS &&
      size > 0) {
    binary.resize(size);
    u8* at = binary.data();
    if (api_.clGetProgramInfo(program.get(), CL_PROGRAM_BINARIES, sizeof at, &at, nullptr) !=
        CL_SUCCESS)
      binary.clear();
  }
  std::vector<u8> image = encode({source, binary});
  keep_built(image, std::move(program));
  return image;
}

void Opened::keep_built(std::span<const u8> image, Owned<cl_program> program) {
  std::lock_guard lock(mutex_);
  built_.insert_or_assign(hash_bytes(image), std::move(program));
}

Result<i64> Opened::max_workgroup_size(const std::string& name, std::span<const u8> image) {
  TRY(Owned<cl_program> program, program_of(name, image));
  i64 most = 0;
  {
    TRY(const Owned<cl_kernel> kernel, make_kernel(api_, program.get(), name));
    most = max_items_of(api_, kernel.get(), found_.device).value_or(found_.info.group_items);
  }
  keep_built(image, std::move(program));
  return most;
}

Result<Owned<cl_program>> Opened::program_of(const std::string& name,
                                             std::span<const u8> image_bytes) {
  TRY(api_.check_process());
  {
    std::lock_guard lock(mutex_);
    const auto found = built_.find(hash_bytes(image_bytes));
    if (found != built_.end()) {
      Owned<cl_program> program = std::move(found->second);
      built_.erase(found);
      return program;
    }
  }
  TRY(Image image, decode(image_bytes));
  if (!image.binary.empty()) {
    const u8* bytes = image.binary.data();
    const usize size = image.binary.size();
    cl_int code = CL_SUCCESS;
    cl_program created = api_.clCreateProgramWithBinary(handles_.context.get(), 1, &found_.device,
                                                        &size, &bytes, nullptr, &code);
    if (code == CL_SUCCESS) {
      Result<Owned<cl_program>> program = compile(created, name, image.source);
      if (program) return program;
    }
  }
  return compile_source(name, image.source);
}

Result<std::unique_ptr<core::Program>> Opened::load(const core::Binary& binary) {
  TRY(Owned<cl_program> program, program_of(binary.name, binary.image));
  std::string_view kept;
  {
    std::lock_guard lock(mutex_);
    kept = *names_.insert(binary.name).first;
  }
  return ClProgram::make(api_, *this, found_.device, kept, queues(), std::move(program), binary,
                         found_.info.image_texels);
}

Result<void> Opened::finish() {
  TRY(api_.check_process());
  // clFinish cannot be stopped.
  for (const cl_command_queue queue : {handles_.compute.get(), handles_.transfer.get()})
    api_.clFlush(queue);
  TRY(computing_.wait_until_done());
  for (const cl_command_queue queue : {handles_.compute.get(), handles_.transfer.get()}) {
    const cl_int code = api_.clFinish(queue);
    if (code == CL_SUCCESS) continue;
    TRY(computing_.collect());
    Error error = refusal(code, "clFinish", "waiting for launched work");
    error.device = name();
    return error;
  }
  TRY(computing_.collect());
  return transferring_.collect();
}

std::string Opened::description() const {
  const DeviceInfo& info = found_.info;
  return fmt::format("{}, {} {}, {}, {} compute units, {} MiB{}{}", info.name, info.platform,
                     info.driver, info.gpu ? "GPU" : "not a GPU", info.compute_units,
                     info.memory_bytes >> 20, info.f64 ? ", f64" : "", info.f16 ? ", f16" : "");
}

Result<Handles> make_handles(const Api& api, const Found& found, bool profile) {
  Handles handles;
  cl_int code = CL_SUCCESS;
  const cl_context_properties properties[] = {
      CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(found.platform), 0};
  cl_context context = api.clCreateContext(properties, 1, &found.device, nullptr, nullptr, &code);
  if (code != CL_SUCCESS) return refusal(code, "clCreateContext", found.info.name);
  handles.context = Owned<cl_context>(context, api.clReleaseContext);
  for (Owned<cl_command_queue>* queue : {&handles.compute, &handles.transfer}) {
    cl_command_queue made = api.clCreateCommandQueue(
        context, found.device, profile ? CL_QUEUE_PROFILING_ENABLE : 0, &code);
    if (code != CL_SUCCESS) return refusal(code, "clCreateCommandQueue", found.info.name);
    *queue = Owned<cl_command_queue>(made, api.clReleaseCommandQueue);
  }
  return handles;
}

// The host's clock minus the device's, from the end of a small transfer: OpenCL 1.2 has no better
// way.
Result<i64> measure_clock(const Api& api, const Handles& handles) {
  cl_int code = CL_SUCCESS;
  const Owned<cl_mem> mem(
      api.clCreateBuffer(handles.context.get(), CL_MEM_READ_WRITE, 64, nullptr, &code),
      api.clReleaseMemObject);
  if (code != CL_SUCCESS) return refusal(code, "clCreateBuffer", "64 bytes");
  const u64 number = 0;
  cl_event event = nullptr;
  code = api.clEnqueueWriteBuffer(handles.transfer.get(), mem.get(), CL_TRUE, 0, sizeof number,
                                  &number, 0, nullptr, &event);
  const u64 now = os::host_clock().now_ns();
  if (code != CL_SUCCESS) return refusal(code, "clEnqueueWriteBuffer", "8 bytes");
  const Owned<cl_event> owned(event, api.clReleaseEvent);
  cl_ulong end = 0;
  code = api.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, nullptr);
  if (code != CL_SUCCESS) return refusal(code, "clGetEventProfilingInfo", "the end of a transfer");
  return static_cast<i64>(now - end);
}

}  // namespace

bool is_built() { return true; }

Result<std::unique_ptr<ClDevice>> open_device(core::DeviceSpec spec, const Options& options) {
  TRY(const Api* api, load_api());
  TRY(std::vector<Found> found, discover(*api, options.platform));
  usize index = static_cast<usize>(spec.ordinal);
  if (!spec.indices.empty()) {
    if (index >= spec.indices.size())
      return fail(ErrorKind::NotFound, "{}: DEV names {} OpenCL devices", spec.name,
                  spec.indices.size());
    index = static_cast<usize>(spec.indices[index]);
  }
  if (index >= found.size())
    return fail(ErrorKind::NotFound, "{}: OpenCL device {} of {}", spec.name, index, found.size());
  const bool profile = options.trace != nullptr;
  TRY(Handles handles, make_handles(*api, found[index], profile));
  i64 clock_offset_ns = 0;
  if (profile) {
    TRY(clock_offset_ns, measure_clock(*api, handles));
  }
  return std::unique_ptr<ClDevice>(
      std::make_unique<Opened>(std::move(spec), *api, std::move(found[index]), std::move(handles),
                               options, clock_offset_ns));
}

}  // namespace doorbell::cl
