// CPU devices and small kernels for tests of queues and graphs.
#pragma once

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "drivers/cpu/device.h"

namespace doorbell::testing {

inline std::unique_ptr<cpu::CpuDevice> make_cpu(int ordinal, cpu::Options options) {
  core::DeviceSpec spec;
  spec.name = ordinal == 0 ? "CPU" : "CPU:" + std::to_string(ordinal);
  spec.ordinal = ordinal;
  return std::make_unique<cpu::CpuDevice>(std::move(spec), options);
}

inline std::unique_ptr<core::Program> load(core::Device& device, const std::string& name,
                                           cpu::KernelEntry entry, u32 params, u32 variables,
                                           i64 threads = 1) {
  core::Binary binary;
  binary.name = name;
  binary.code.entry = reinterpret_cast<void*>(entry);
  binary.param_count = params;
  binary.variable_count = variables;
  binary.threads = threads;
  auto program = device.load(binary);
  EXPECT_TRUE(program) << program.error().message;
  return std::move(*program);
}

// buffers: {out, in}; out[0] = in[0] + variable.
inline void add_variable(void* const* buffers, const i64* variables, i64) {
  *static_cast<i64*>(buffers[0]) = *static_cast<const i64*>(buffers[1]) + variables[0];
}

// buffers: {out}; ++out[0].
inline void increment(void* const* buffers, const i64*, i64) { ++*static_cast<i64*>(buffers[0]); }

inline u64 address(const void* pointer) { return reinterpret_cast<u64>(pointer); }

#define ASSERT_OK(expression)                                                  \
  do {                                                                         \
    auto&& checked_result = (expression);                                      \
    ASSERT_TRUE(checked_result.has_value()) << checked_result.error().message; \
  } while (false)

}  // namespace doorbell::testing
