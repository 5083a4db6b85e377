// What a target offers the code generator: the operations it has (what it lacks is decomposed), its
// dtypes, vector registers, memories and limits. Filled by each renderer (codegen/render) and
// refined by the device (core/device); read by codegen/opt and codegen/lower.
#pragma once

#include <bitset>

#include "codegen/tensor_core.h"
#include "core/dtype/dtype.h"
#include "core/uop/op.h"

namespace doorbell::codegen {

struct Caps {
  std::bitset<core::kOpCount> ops;                 // elementwise ops rendered natively
  std::bitset<core::kOpCount> not_of_f64;          // of these, those only for f32 and narrower
  std::bitset<core::kScalarCount> dtypes;          // arithmetic; the rest is computed in f32
  std::bitset<core::kScalarCount> storage_dtypes;  // loads and stores
  bool masked_access = false;                      // Load/Store with a per-lane gate
  bool dot_products = false;                       // of bf16 and of bytes (linear/dot.h)
  bool has_local = false;           // work groups with shared memory and barriers: see below
  bool flushes_subnormals = false;  // of f32: inputs and outputs may flush to zero
  bool private_arrays = true;       // DefinePrivate: memory of one thread or work item
  bool host_threads = false;        // Special ThreadId split over worker threads
  int vector_bytes = 16;            // of the registers that vectors fill; 0: scalar only
  bool vector_arithmetic = true;    // on vectors at once; else vectors are loaded and stored only
  i64 param_alignment = 1;          // of arguments' addresses, in bytes; at least their elements'
  int vector_registers = 16;        // number of such registers
  i64 l1_bytes = 32 << 10, l2_bytes = 512 << 10;
  int threads = 1;            // workers behind ThreadId
  int max_params = 31;        // buffers a kernel may name
  i64 image_texels = 0;       // largest image over a buffer; 0: no images
  bool narrow_index = false;  // i32 index arithmetic wherever it fits; else scalars are i64

  // With has_local: a kernel is a grid of work groups, each of work items that share DefineLocal
  // memory and meet at Barriers. Output axes become GroupId x LocalId; no loop runs over groups,
  // and host_threads is ignored. A limit of 0 means no limit.
  i64 max_global[3] = {0, 0, 0};      // work groups by axis
  i64 max_local = 0;                  // work items of a group
  i64 max_local_axis[3] = {0, 0, 0};  // and by axis
  i64 max_shared_bytes = 0;           // DefineLocal memory of a group
  i64 max_dynamic_shared_bytes = 0;   // the same where the launch asks for it; 0: it cannot
  bool fast_shared = true;            // it is faster than the caches: staging operands in it pays
  bool async_copies = false;          // of 16 bytes from arguments to DefineLocal memory
  bool tensor_copies = false;         // of boxes, by a TensorMap (linear/tensor_copy.h)
  bool transposing_loads = false;     // of 8 and 16 bits (linear/program.h, Load)
  i64 busy_items = 32768;             // work items of a kernel that keep the target busy
  // What limits occupancy, if it is known (opt/occupancy.h); otherwise waves is 0.
  struct Simd {
    i64 waves = 0;             // the most that a SIMD holds
    i64 wave_items = 32;       // items of a wave,
    i64 lanes_per_cycle = 32;  // and how many of them an instruction processes in a cycle
    i64 registers = 0;         // of a SIMD, 32 bits for each item: its waves share them
    i64 register_granule = 1;  // they are allocated in multiples of this
    i64 max_registers = 256;   // of an item; more are spilled to memory
    i64 local_bytes = 0;       // of local memory, for the groups on `sharing` SIMDs
    i64 local_reserved = 0;    // of these, what the system takes for each group
    i64 sharing = 1;

    static void fields(auto& simd, auto f) {
      auto& [waves, wave_items, lanes, registers, granule, most, local_bytes, reserved, sharing] =
          simd;
      f("waves", waves);
      f("wave_items", wave_items);
      f("lanes_per_cycle", lanes);
      f("registers", registers);
      f("register_granule", granule);
      f("max_registers", most);
      f("local_bytes", local_bytes);
      f("local_reserved", reserved);
      f("sharing", sharing);
    }
  };
  Simd simd;
  // A core of the host, in the time of one multiply-add of a vector register at full speed. Without
  // measurements, those of many cores.
  struct Core {
    i64 fma_in_flight = 8;  // so many are in progress at full speed: latency times ports
    i64 far_load = 6;       // time to load a vector register from memory, line by line

    static void fields(auto& core, auto f) {
      auto& [in_flight, far_load] = core;
      f("fma_in_flight", in_flight);
      f("far_load", far_load);
    }
  };
  Core core;
  // Matrix instructions, by number in tensor_cores(). Those of a wave are all of the same size.
  std::bitset<kTensorCoreCount> tensor_cores;

  // Calls f(name, member) for each member; the key of a compiled kernel is made of them. A member
  // that the structured binding lacks does not compile.
  static void fields(auto& caps, auto f) {
    auto& [ops, not_of_f64, dtypes, storage_dtypes, masked_access, dot_products, has_local, flushes,
           arrays, host_threads, vector_bytes, vector_arithmetic, param_alignment, vector_registers,
           l1, l2, threads, max_params, image_texels, narrow_index, max_global, max_local,
           max_local_axis, max_shared_bytes, max_dynamic_shared_bytes, fast_shared, async_copies,
           tensor_copies, transposing_loads, busy_items, simd, core, tensor_cores] = caps;
    f("ops", ops);
    f("not_of_f64", not_of_f64);
    f("dtypes", dtypes);
    f("storage_dtypes", storage_dtypes);
    f("masked_access", masked_access);
    f("dot_products", dot_products);
    f("has_local", has_local);
    f("flushes_subnormals", flushes);
    f("private_arrays", arrays);
    f("host_threads", host_threads);
    f("vector_bytes", vector_bytes);
    f("vector_arithmetic", vector_arithmetic);
    f("param_alignment", param_alignment);
    f("vector_registers", vector_registers);
    f("l1_bytes", l1);
    f("l2_bytes", l2);
    f("threads", threads);
    f("max_params", max_params);
    f("image_texels", image_texels);
    f("narrow_index", narrow_index);
    f("max_global", max_global);
    f("max_local", max_local);
    f("max_local_axis", max_local_axis);
    f("max_shared_bytes", max_shared_bytes);
    f("max_dynamic_shared_bytes", max_dynamic_shared_bytes);
    f("fast_shared", fast_shared);
    f("async_copies", async_copies);
    f("tensor_copies", tensor_copies);
    f("transposing_loads", transposing_loads);
    f("busy_items", busy_items);
    f("simd", simd);
    f("core", core);
    f("tensor_cores", tensor_cores);
  }

  bool has(core::Op op) const { return ops[static_cast<usize>(op)]; }
  bool has(core::Op op, core::DType t) const {
    return has(op) && !(t.scalar == core::Scalar::F64 && not_of_f64[static_cast<usize>(op)]);
  }
  bool has(core::DType t) const { return dtypes[static_cast<usize>(t.scalar)]; }
};

}  // namespace doorbell::codegen
