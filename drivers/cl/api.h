// The OpenCL functions that the driver calls, from the ICD loader, and their errors. The loader is
// opened once and kept: implementations have threads of their own.
//
// Thread safety: OpenCL's functions may be called from any thread, but for clSetKernelArg on one
// kernel [OpenCL 3.0 appendix A.2].
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/os/fork.h"
#include "base/util/result.h"
#include "base/util/types.h"

namespace doorbell::cl {

struct Api {
  // clang-format off: a list, not calls
#define DOORBELL_CL_FUNCTIONS(F)                                                                   \
  F(clGetPlatformIDs) F(clGetPlatformInfo) F(clGetDeviceIDs) F(clGetDeviceInfo)                    \
  F(clCreateContext) F(clCreateCommandQueue) F(clReleaseContext) F(clReleaseCommandQueue)          \
  F(clCreateBuffer) F(clCreateImage) F(clReleaseMemObject) F(clEnqueueReadBuffer)                  \
  F(clEnqueueWriteBuffer) F(clEnqueueCopyBuffer) F(clCreateProgramWithSource)                      \
  F(clCreateProgramWithBinary) F(clBuildProgram) F(clGetProgramInfo) F(clGetProgramBuildInfo)      \
  F(clReleaseProgram) F(clCreateKernel) F(clReleaseKernel) F(clSetKernelArg)                       \
  F(clGetKernelWorkGroupInfo) F(clEnqueueNDRangeKernel) F(clGetEventInfo)                          \
  F(clGetEventProfilingInfo) F(clRetainEvent) F(clReleaseEvent) F(clFlush) F(clFinish)
// clang-format on
#define F(name) decltype(&::name) name = nullptr;
  DOORBELL_CL_FUNCTIONS(F)
#undef F
  // Implementations have threads and locks, which a forked child lacks.
  os::ForkGuard process;
  Result<void> check_process() const { return process.check("OpenCL's devices"); }
};

// The loader's functions; an error if there is no loader, or if it was opened before a fork.
Result<const Api*> load_api();

// "CL_INVALID_KERNEL_ARGS", or "error -9999".
std::string error_name(cl_int code);
// The kind of error of a code that is not CL_SUCCESS.
ErrorKind error_kind(cl_int code);
// "clEnqueueNDRangeKernel: CL_OUT_OF_RESOURCES: <what>"
Error refusal(cl_int code, std::string_view call, std::string_view what);

// An object with a release function. In a child that was forked it is left to the system.
template <class T>
class Owned {
 public:
  Owned() = default;
  Owned(T object, cl_int (*release)(T)) : object_(object), release_(release) {}
  Owned(Owned&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)),
        release_(other.release_),
        process_(other.process_) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(object_, other.object_);
    std::swap(release_, other.release_);
    std::swap(process_, other.process_);
    return *this;
  }
  ~Owned() {
    if (object_ != nullptr && process_.is_same_process()) release_(object_);
  }

  T get() const { return object_; }

 private:
  T object_ = nullptr;
  cl_int (*release_)(T) = nullptr;
  os::ForkGuard process_;
};

}  // namespace doorbell::cl
