// Realisation: from a lazy graph to values in memory. A graph seen before, in shape and sharing, is
// found by its key and launched without making a node; a new one is scheduled, compiled and kept.
// What a tensor is, and when it asks for its value, is tensor/api's.
//
// Thread safety: all functions may be called from any thread. Errors are thrown as Error.
#pragma once

#include <span>
#include <vector>

#include <absl/container/inlined_vector.h>

#include "core/device/buffer.h"
#include "core/uop/graph.h"

namespace doorbell::engine {

class GraphLog;

// Computes `wanted` and tells the graph (TensorGraph::set_realized). Returns in order the nodes
// that the owners of the lazy ones should own instead (materialized_node). Work may still be
// running: read through read_bytes, or synchronize first. It waits for kernels of devices that say
// so (hcq::Device::realize_waits), and where it copies memory that is the caller's own, who may
// write it as soon as this returns.
// Most callers want one or two.
using StoredNodes = absl::InlinedVector<core::UOpRef, 4>;
StoredNodes realize(std::span<const core::UOp> wanted);

// What realize would do first, and nothing else: schedule, compile, and keep both for the time when
// it is called. For tools and benchmarks, and to have the compiling over with.
struct Preparation {
  i64 kernels = 0, distinct_kernels = 0, copies = 0;
  f64 schedule_seconds = 0, compile_seconds = 0;  // when it was new
};
Preparation prepare(std::span<const core::UOp> wanted);
// Schedules and compiles anew, for the log alone: nothing is kept, nothing runs.
void log_plan(std::span<const core::UOp> wanted, GraphLog* log);

// What the owner of a realised node should hold, so that what it was computed from can go: its
// Buffer, or where the shape is symbolic a view of its Buffer with that shape.
// `holder`, if not null, is the Buffer, for which it may be moved from.
core::UOpRef materialized_node(core::UOp realized, core::UOpRef holder = {});
// The value of a symbolic shape whose elements lie without gaps at the beginning of a Buffer node.
core::UOpRef view_of_buffer(core::UOp buffer, std::span<const core::Dim> shape);

// A Buffer node over `buffer`, as version 0 of a fresh id. The buffer holds at least the bytes of
// the shape.
core::UOpRef make_buffer_node(core::Ref<core::Buffer> buffer, core::DType dtype,
                              std::span<const i64> shape);
// Fresh memory on a device with the bytes of `data`, which may be empty: then it is undefined.
core::UOpRef make_buffer_node(core::Device& device, core::DType dtype, std::span<const i64> shape,
                              std::span<const std::byte> data);
// The memory behind a Buffer node.
core::Buffer& buffer_of(core::UOp node);

// Waits for the node's device and copies its bytes out. `node` is a Buffer node, or the Multi of
// several: its parts are put together.
void read_bytes(core::UOp node, std::span<std::byte> out);

// The device of a name ("CPU", "CPU:1"; empty: the default), of its number or of a node. Starts the
// runtime if nobody has.
core::Device& device(std::string_view name = {});
core::Device& device_at(u16 number);
core::Device& device_of(core::UOp node);
// "CPU", or "CPU,CPU:1" for a placement: of Node::device, which is not 0.
std::string device_name(u16 device);
// " along axis 0" for a value in parts, which follows the name; nothing for others.
std::string layout_name(u16 device);
// Waits for everything launched on all open devices.
void synchronize();

// Forgets finished schedules and their programs; for tests and benchmarks.
void clear_schedule_cache();

}  // namespace doorbell::engine
