// The module: MPI's C interface behind MpiApi. Nothing of the rest of Doorbell is linked to it.
// Functions and constants are those of the MPI standard, version 3.1.
#include <dlfcn.h>
#include <mpi.h>

#include <climits>
#include <cmath>
#include <cstdio>
#include <vector>

#include "drivers/mpi/module/allreduce_choice.h"
#include "drivers/mpi/module/mpi_api.h"

namespace doorbell::mpi {
namespace {

struct State {
  std::vector<MPI_Comm> groups;
  std::vector<MPI_Request> pending;
  std::vector<Pending> unused;
  MPI_Op float_max = MPI_OP_NULL;
  bool started_here = false;
};

State& state() {
  static State& state = *new State;
  return state;
}

// The larger, of two zeros 0, and NaN where one is: MPI_MAX leaves that open.
template <class T>
void max_of(const void* from, void* into, int count) {
  const T* a = static_cast<const T*>(from);
  T* b = static_cast<T*>(into);
  for (int i = 0; i < count; ++i)
    if (std::isnan(a[i]) || a[i] > b[i] || (a[i] == b[i] && !std::signbit(a[i]))) b[i] = a[i];
}

void combine_max(void* from, void* into, int* count, MPI_Datatype* type) {
  if (*type == MPI_FLOAT)
    max_of<float>(from, into, *count);
  else
    max_of<double>(from, into, *count);
}

MPI_Datatype type_of(Element element) {
  switch (element) {
    case Element::I8: return MPI_INT8_T;
    case Element::U8: return MPI_UINT8_T;
    case Element::I16: return MPI_INT16_T;
    case Element::U16: return MPI_UINT16_T;
    case Element::I32: return MPI_INT32_T;
    case Element::U32: return MPI_UINT32_T;
    case Element::I64: return MPI_INT64_T;
    case Element::U64: return MPI_UINT64_T;
    case Element::F32: return MPI_FLOAT;
    case Element::F64: break;
  }
  return MPI_DOUBLE;
}

MPI_Op op_of(Combine combine, Element element) {
  const bool is_float = element == Element::F32 || element == Element::F64;
  switch (combine) {
    case Combine::Add: return MPI_SUM;
    case Combine::Mul: return MPI_PROD;
    case Combine::Max: return is_float ? state().float_max : MPI_MAX;
    case Combine::And: return MPI_BAND;
    case Combine::Or: return MPI_BOR;
    case Combine::Xor: break;
  }
  return MPI_BXOR;
}

MPI_Comm comm(Group group) { return state().groups[static_cast<size_t>(group)]; }

Pending keep(MPI_Request request) {
  State& all = state();
  if (all.unused.empty()) {
    all.pending.push_back(request);
    return static_cast<Pending>(all.pending.size() - 1);
  }
  const Pending at = all.unused.back();
  all.unused.pop_back();
  all.pending[static_cast<size_t>(at)] = request;
  return at;
}

// MPI counts with int. Bytes that are more become elements of so many bytes.
struct Bytes {
  MPI_Datatype type = MPI_BYTE;
  int count = 0;
  int error = MPI_SUCCESS;

  explicit Bytes(i64 bytes) {
    constexpr int kUnit = 4096;
    if (bytes <= INT_MAX) {
      count = static_cast<int>(bytes);
    } else if (bytes % kUnit != 0 || bytes / kUnit > INT_MAX) {
      error = MPI_ERR_COUNT;
    } else {
      count = static_cast<int>(bytes / kUnit);
      error = MPI_Type_contiguous(kUnit, MPI_BYTE, &type);
      if (error == MPI_SUCCESS) error = MPI_Type_commit(&type);
    }
  }
  ~Bytes() {
    if (type != MPI_BYTE) MPI_Type_free(&type);  // once operations under way are done
  }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
};

int kept(int error, const MPI_Request& request, Pending* made) {
  if (error == MPI_SUCCESS) *made = keep(request);
  return error;
}

int add_group(int error, MPI_Comm made, Group* number) {
  if (error != MPI_SUCCESS) return error;
  MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  if (number != nullptr) *number = static_cast<Group>(state().groups.size());
  state().groups.push_back(made);
  return MPI_SUCCESS;
}

const char* name() {
  static char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  if (text[0] == 0) MPI_Get_library_version(text, &length);
  for (char& c : text)
    if (c == '\n' || c == ',') c = 0;
  return text;
}

// Open MPI's own plugins look its symbols up where all libraries see them, and this module's are
// seen by it alone. [Open MPI FAQ, "dlopen ... RTLD_GLOBAL"; mpi4py does so too]
void show_library() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&MPI_Init_thread), &info) != 0 && info.dli_fname != nullptr)
    dlopen(info.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

struct Ending {
  void (*ends)(void*);
  void* context;
};

// MPI_Finalize deletes the attributes of MPI_COMM_SELF before anything else. [MPI 3.1, 8.7.1]
int tell_ending(MPI_Comm, int, void* attribute, void*) {
  const auto* ending = static_cast<const Ending*>(attribute);
  ending->ends(ending->context);
  return MPI_SUCCESS;
}

int watch_ending(void (*ends)(void*), void* context) {
  static Ending& ending = *new Ending;
  ending = {ends, context};
  int key = 0;
  if (const int error = MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, tell_ending, &key, nullptr))
    return error;
  return MPI_Comm_set_attr(MPI_COMM_SELF, key, &ending);
}

int start(Job* job, void (*ends)(void*), void* context) {
  show_library();
  int is_started = 0, provided = 0;
  if (const int error = MPI_Initialized(&is_started)) return error;
  if (!is_started) {
    if (const int error = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided))
      return error;
    state().started_here = true;
    // Open MPI tells it of errors of other communicators' collectives, too.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  } else {
    MPI_Query_thread(&provided);
  }
  if (provided < MPI_THREAD_SERIALIZED) return MPI_ERR_OTHER;
  MPI_Comm_rank(MPI_COMM_WORLD, &job->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job->size);
  MPI_Comm local;
  if (const int error = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, job->rank,
                                            MPI_INFO_NULL, &local))
    return error;
  MPI_Comm_rank(local, &job->local_rank);
  MPI_Comm_free(&local);
  find_allreduce_choice();
  if (const int error = watch_ending(ends, context)) return error;
  if (const int error = MPI_Op_create(combine_max, 1, &state().float_max)) return error;
  for (int i = 0; i < 2; ++i) {  // kWorld, kWatch
    MPI_Comm made;
    const int error = MPI_Comm_dup(MPI_COMM_WORLD, &made);
    if (const int failed = add_group(error, made, nullptr)) return failed;
  }
  return MPI_SUCCESS;
}

int end() {
  int is_ended = 0;
  MPI_Finalized(&is_ended);
  return is_ended || !state().started_here ? MPI_SUCCESS : MPI_Finalize();
}

int group(const int* ranks, int count, Group* number) {
  MPI_Group all, some;
  MPI_Comm_group(comm(kWorld), &all);
  int error = MPI_Group_incl(all, count, ranks, &some);
  MPI_Group_free(&all);
  if (error != MPI_SUCCESS) return error;
  MPI_Comm made = MPI_COMM_NULL;
  // Open MPI sends its own messages under the tag, which must not meet ours.
  constexpr int kTag = 1000;
  error = MPI_Comm_create_group(comm(kWatch), some, kTag, &made);
  MPI_Group_free(&some);
  return add_group(error, made, number);
}

int send(Group group, const void* data, i64 bytes, int rank, int tag, Pending* made) {
  const Bytes size(bytes);
  if (size.error != MPI_SUCCESS) return size.error;
  MPI_Request request;
  return kept(MPI_Isend(data, size.count, size.type, rank, tag, comm(group), &request), request,
              made);
}

int receive(Group group, void* data, i64 bytes, int rank, int tag, Pending* made) {
  const Bytes size(bytes);
  if (size.error != MPI_SUCCESS) return size.error;
  MPI_Request request;
  return kept(MPI_Irecv(data, size.count, size.type, rank, tag, comm(group), &request), request,
              made);
}

int reduce(Group group, const void* from, void* to, i64 count, Element element, Combine combine,
           Pending* made) {
  if (count > INT_MAX) return MPI_ERR_COUNT;
  int element_bytes = 0;
  MPI_Type_size(type_of(element), &element_bytes);
  choose_allreduce(count * element_bytes);
  MPI_Request request;
  return kept(MPI_Iallreduce(from == to ? MPI_IN_PLACE : from, to, static_cast<int>(count),
                             type_of(element), op_of(combine, element), comm(group), &request),
              request, made);
}

int reduce_scatter(Group group, const void* from, void* to, i64 count, Element element,
                   Combine combine, Pending* made) {
  if (count > INT_MAX) return MPI_ERR_COUNT;
  MPI_Request request;
  return kept(MPI_Ireduce_scatter_block(from, to, static_cast<int>(count), type_of(element),
                                        op_of(combine, element), comm(group), &request),
              request, made);
}

int gather(Group group, const void* from, void* to, i64 bytes, Pending* made) {
  const Bytes size(bytes);
  if (size.error != MPI_SUCCESS) return size.error;
  MPI_Request request;
  return kept(
      MPI_Iallgather(from, size.count, size.type, to, size.count, size.type, comm(group), &request),
      request, made);
}

int all_to_all(Group group, const void* from, void* to, i64 bytes, Pending* made) {
  const Bytes size(bytes);
  if (size.error != MPI_SUCCESS) return size.error;
  MPI_Request request;
  return kept(
      MPI_Ialltoall(from, size.count, size.type, to, size.count, size.type, comm(group), &request),
      request, made);
}

int broadcast(Group group, void* data, i64 bytes, int root, Pending* made) {
  const Bytes size(bytes);
  if (size.error != MPI_SUCCESS) return size.error;
  MPI_Request request;
  return kept(MPI_Ibcast(data, size.count, size.type, root, comm(group), &request), request, made);
}

int barrier(Group group, Pending* made) {
  MPI_Request request;
  return kept(MPI_Ibarrier(comm(group), &request), request, made);
}

int test(Pending pending, bool* done) {
  int flag = 0;
  const int error =
      MPI_Test(&state().pending[static_cast<size_t>(pending)], &flag, MPI_STATUS_IGNORE);
  *done = flag != 0;
  if (*done || error != MPI_SUCCESS) state().unused.push_back(pending);
  return error;
}

int cancel(Pending pending) {
  MPI_Request& request = state().pending[static_cast<size_t>(pending)];
  if (request == MPI_REQUEST_NULL) return MPI_SUCCESS;  // it failed by itself
  if (const int error = MPI_Cancel(&request)) return error;
  return MPI_Request_free(&request);
}

int probe(Group group, int tag, bool* found, int* rank, i64* bytes) {
  int flag = 0, count = 0;
  MPI_Status status;
  if (const int error = MPI_Iprobe(MPI_ANY_SOURCE, tag, comm(group), &flag, &status)) return error;
  *found = flag != 0;
  if (!*found) return MPI_SUCCESS;
  *rank = status.MPI_SOURCE;
  const int error = MPI_Get_count(&status, MPI_BYTE, &count);
  *bytes = count;
  return error;
}

void message(int error, char* text, int size) {
  char all[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (MPI_Error_string(error, all, &length) != MPI_SUCCESS) all[0] = 0;
  std::snprintf(text, static_cast<size_t>(size), "%s", all);
}

int plain(Plain what, const void* from, void* to, i64 bytes) {
  if (bytes > INT_MAX) return MPI_ERR_COUNT;
  const int size = static_cast<int>(bytes), floats = size / static_cast<int>(sizeof(float));
  switch (what) {
    case Plain::Barrier: return MPI_Barrier(MPI_COMM_WORLD);
    case Plain::Allreduce:
      return MPI_Allreduce(from, to, floats, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    case Plain::Allgather:
      return MPI_Allgather(from, size, MPI_BYTE, to, size, MPI_BYTE, MPI_COMM_WORLD);
    case Plain::Broadcast: return MPI_Bcast(to, size, MPI_BYTE, 0, MPI_COMM_WORLD);
    case Plain::AllToAll: break;
  }
  return MPI_Alltoall(from, size, MPI_BYTE, to, size, MPI_BYTE, MPI_COMM_WORLD);
}

constexpr MpiApi kApi{name,   start,          end,    group,      send,      receive,
                      reduce, reduce_scatter, gather, all_to_all, broadcast, barrier,
                      test,   cancel,         probe,  message,    plain};

}  // namespace
}  // namespace doorbell::mpi

extern "C" __attribute__((visibility("default"))) const doorbell::mpi::MpiApi* doorbell_mpi_api() {
  return &doorbell::mpi::kApi;
}
extern "C" __attribute__((visibility("default"))) doorbell::u32 doorbell_mpi_api_version() {
  return doorbell::mpi::kMpiApiVersion;
}
