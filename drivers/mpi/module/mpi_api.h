// MpiApi: what Doorbell uses of MPI, as a table of functions. The module behind it is compiled
// against the mpi.h of one implementation, because their binary interfaces differ (Open MPI's
// constants are addresses, MPICH's are numbers), and loaded only when a program asks for other
// processes: docs/decisions/0090-processes.md.
//
// No call waits for other processes, but for start(), group(), end() and plain(). Each returns 0 or
// MPI's error code.
//
// Thread safety: one call at a time, from any thread; start() and end() from one thread.
#pragma once

#include "base/util/types.h"

namespace doorbell::mpi {

enum class Element : u8 { I8, U8, I16, U16, I32, U32, I64, U64, F32, F64 };
enum class Combine : u8 { Add, Mul, Max, And, Or, Xor };

struct Job {
  int rank = 0, size = 1;
  int local_rank = 0;  // among the processes of this machine
};

// MPI's blocking calls, on all processes: what Doorbell's exchanges are measured beside.
enum class Plain : u8 { Barrier, Allreduce, Allgather, AllToAll, Broadcast };

// A group of processes, and an operation under way: numbers that the module gives out.
using Group = int;
using Pending = int;
inline constexpr Group kWorld = 0, kWatch = 1;  // all; the second for messages beside the work
inline constexpr int kAnyRank = -1;

struct MpiApi {
  // "Open MPI v4.1.4"; lives for ever.
  const char* (*name)();
  // Joins the other processes, unless the program has done so. When MPI is about to be ended,
  // whoever ends it, `ends` is called: MPI works until it returns.
  int (*start)(Job* job, void (*ends)(void* context), void* context);
  // Leaves them, if start() joined.
  int (*end)();
  int (*group)(const int* ranks, int count, Group* made);
  // Ranks are those within the group.
  int (*send)(Group, const void* data, i64 bytes, int rank, int tag, Pending* made);
  int (*receive)(Group, void* data, i64 bytes, int rank, int tag, Pending* made);
  // `from` may be `to`.
  int (*reduce)(Group, const void* from, void* to, i64 count, Element, Combine, Pending* made);
  // `count` elements for each.
  int (*reduce_scatter)(Group, const void* from, void* to, i64 count, Element, Combine,
                        Pending* made);
  // `bytes` of each.
  int (*gather)(Group, const void* from, void* to, i64 bytes, Pending* made);
  int (*all_to_all)(Group, const void* from, void* to, i64 bytes, Pending* made);
  // Of the process `root`, a rank within the group, into `data` of the others.
  int (*broadcast)(Group, void* data, i64 bytes, int root, Pending* made);
  int (*barrier)(Group, Pending* made);
  int (*test)(Pending, bool* done);
  // A message that will not be awaited: nothing is written any more, unless some of it has come.
  int (*cancel)(Pending);
  // Whether a message is there; which rank it is from and how long it is.
  int (*probe)(Group, int tag, bool* found, int* rank, i64* bytes);
  void (*message)(int error, char* text, int size);
  // Sums are of float; `bytes` are those of a block, where there is one for each process. A
  // broadcast is of rank 0's `to`.
  int (*plain)(Plain, const void* from, void* to, i64 bytes);
};

inline constexpr const char* kMpiApiSymbol = "doorbell_mpi_api";
// Of the table above: changes with it.
inline constexpr u32 kMpiApiVersion = 4;
inline constexpr const char* kMpiVersionSymbol = "doorbell_mpi_api_version";

}  // namespace doorbell::mpi
