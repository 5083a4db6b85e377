// Opening /dev/kfd, and the map of addresses.
#include "drivers/amd/kernel/kfd.h"

#include <fmt/format.h>

#include <cerrno>

#include "base/util/check.h"
#include "base/util/log.h"
#include "base/util/try.h"
#include "drivers/amd/kernel/kfd_events.h"
#include "drivers/amd/kernel/kfd_gpu.h"
#include "drivers/amd/kernel/shared_memory.h"

namespace doorbell::amd {
namespace {

constexpr const char* kNode = "/dev/kfd";
// Inside the 47 bits that every GPU translates, far from what the host's kernel hands out.
constexpr u64 kFirstAddress = u64{1} << 45, kAddresses = u64{1} << 44;
constexpr u64 kHugePage = u64{2} << 20;

Error open_error(const Error& error) {
  switch (error.kind) {
    case ErrorKind::NotFound:
      return fail(ErrorKind::NotFound,
                  "{} does not exist: no AMD GPU, or the kernel module amdgpu is not loaded "
                  "(modprobe amdgpu); in a container, pass --device {} --device /dev/dri",
                  kNode, kNode);
    case ErrorKind::Permission:
      return fail(ErrorKind::Permission,
                  "{} cannot be opened: add the user to the groups render and video "
                  "(usermod -aG render,video USER), and log in again",
                  kNode);
    default: return error;
  }
}

}  // namespace

Result<std::unique_ptr<Kfd>> Kfd::open(os::Files& files, os::Clock& clock,
                                       const KfdOptions& options) {
  Result<std::unique_ptr<os::File>> file = files.open(kNode, os::Access::ReadWrite);
  if (!file) return open_error(file.error());
  hw::KfdGetVersion version;
  if (Result<int> answer = (*file)->ioctl(hw::kRequest<hw::KfdGetVersion>, &version); !answer)
    return fail(answer.error().kind, "{} does not report its version: {}", kNode,
                answer.error().message);
  if (version.major_version != hw::kKfdMajor || version.minor_version < hw::kKfdOldestMinor)
    return fail(ErrorKind::Unsupported,
                "{} has interface {}.{}, expected {}.{} or later: Linux 6.1 has it, as has AMD's "
                "amdgpu-dkms for older kernels",
                kNode, version.major_version, version.minor_version, hw::kKfdMajor,
                hw::kKfdOldestMinor);
  TRY(std::vector<Node> nodes, read_topology(files));
  return std::unique_ptr<Kfd>(
      new Kfd(files, clock, options, std::move(*file), version.minor_version, std::move(nodes)));
}

Kfd::Kfd(os::Files& files, os::Clock& clock, const KfdOptions& options,
         std::unique_ptr<os::File> file, u32 minor_version, std::vector<Node> nodes)
    : files_(files),
      clock_(clock),
      options_(options),
      file_(std::move(file)),
      minor_version_(minor_version),
      nodes_(std::move(nodes)),
      addresses_(kFirstAddress, kAddresses, options.page_bytes),
      gpus_(nodes_.size()),
      shared_(std::make_unique<SharedMemory>()),
      signals_(std::make_unique<hcq::SignalPool>(*shared_, hcq::SignalPool::RaisedBy::Device)),
      events_(std::make_unique<KfdEvents>(*this)) {}

Kfd::~Kfd() = default;

Result<KfdGpu*> Kfd::gpu(usize index) {
  CHECK(index < nodes_.size(), "GPU {} of {}", index, nodes_.size());
  std::lock_guard lock(gpus_mutex_);
  Opened& gpu = gpus_[index];
  // Stays, whatever fails behind it: the kernel would take no other opening of the node.
  if (gpu.gpu == nullptr) {
    TRY(gpu.gpu, KfdGpu::open(*this, nodes_[index]));
  }
  if (!gpu.joined) {
    set_runtime();
    TRY(shared_->add_gpu(*gpu.gpu));
    TRY(events_->open());
    gpu.joined = true;
  }
  return gpu.gpu.get();
}

// Either mode brings the scheduler of gfx11 and 12 to forget what a process before left there. Mode
// 0 is what tinygrad calls, the only client whose queues are as ours: PM4, with RSRC1.PRIV on
// gfx11. Trap temporaries need mode 3, which ROCr asks for under HSA_ENABLE_DEBUG and nobody
// together with PRIV; so only who asks for waves' places gets it. The kernel refuses it once there
// is a queue, and to a process that also runs ROCm. [Linux kfd_chardev.c, runtime_enable(),
// runtime_disable(), both kfd_dbg_set_mes_debug_mode(); tinygrad ops_amd.py, KFDIface; ROCr
// amd_kfd_driver.cpp#91]
void Kfd::set_runtime() {
  if (runtime_asked_ || minor_version_ < hw::kKfdRuntimeMinor) return;
  runtime_asked_ = true;
  hw::KfdRuntimeEnable runtime;
  if (options_.trap_registers) runtime.mode_mask = hw::kKfdRuntimeEnable | hw::kKfdRuntimeTtmpSave;
  Result<void> set = call(runtime);
  has_trap_registers_ = set && options_.trap_registers;
  if (!set)
    log().info("{}; messages of hangs may not say which groups the waves belong to",
               set.error().message);
}

Result<int> Kfd::send(unsigned long request, void* arguments) {
  TRY(check_process());
  // What a reset or a shrinker holds up is answered EAGAIN: a while later it is done.
  // [libhsakmt libhsakmt.c, hsakmt_ioctl()]
  constexpr int kTries = 100;
  constexpr u64 kPause_ns = 1'000'000;
  for (int i = 1;; ++i) {
    Result<int> answer = file_->ioctl(request, arguments);
    if (answer || answer.error().os_errno != EAGAIN || i == kTries) return answer;
    clock_.sleep_until(clock_.now_ns() + kPause_ns);
  }
}

void Kfd::add_field(std::string* text, const char* name, u64 value) {
  *text += fmt::format("{}{}={:#x}", text->empty() ? "" : " ", name, value);
}

Error Kfd::refusal(const Error& error, const char* call, const std::string& given) {
  Error refused = fail(error.kind, "{} is refused: {} ({})", call, error.message, given);
  refused.os_errno = error.os_errno;
  return refused;
}

Result<u64> Kfd::reserve(u64 bytes) {
  std::lock_guard lock(mutex_);
  const u64 alignment = bytes >= kHugePage ? kHugePage : options_.page_bytes;
  const std::optional<u64> va = addresses_.allocate(bytes, alignment);
  if (!va) return fail(ErrorKind::OutOfMemory, "no GPU addresses are left for {} bytes", bytes);
  return *va;
}

void Kfd::unreserve(u64 va) {
  std::lock_guard lock(mutex_);
  addresses_.release(va);
}

}  // namespace doorbell::amd
