// Two texts, put together line by line.
#include "tensor/export/c_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/util/check.h"
#include "tensor/export/c_weights.h"
#include "tensor/io/safetensors_header.h"

namespace doorbell::detail {

namespace {

using engine::ExecutionPlan;
using engine::ReplayPlan;
using Value = ExportedFunction::Value;

const char* c_type(core::DType dtype) {
  switch (dtype.scalar) {
    case core::Scalar::I8: return "int8_t";
    case core::Scalar::I16:
    case core::Scalar::U16:
    case core::Scalar::F16:
    case core::Scalar::BF16: return dtype.scalar == core::Scalar::I16 ? "int16_t" : "uint16_t";
    case core::Scalar::I32: return "int32_t";
    case core::Scalar::U32: return "uint32_t";
    case core::Scalar::I64: return "int64_t";
    case core::Scalar::U64: return "uint64_t";
    case core::Scalar::F32: return "float";
    case core::Scalar::F64: return "double";
    default: return "uint8_t";  // bool, u8, fp8
  }
}

std::string describe(const Value& value) {
  return fmt::format("{} ({})", core::long_name_of(value.dtype.scalar),
                     fmt::join(value.shape, ", "));
}

class Writer {
 public:
  explicit Writer(const CSourceInput& input)
      : in_(input),
        f_(input.function),
        plan_(*input.function.plan),
        work_(*plan_.work),
        name_(input.name) {
    find_direct();
  }
  std::string header();
  std::string source();

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    out_ += fmt::format(format, std::forward<Args>(args)...) + "\n";
  }
  std::string run_signature() const;
  std::string pointer(const ExportMemory& memory) const;
  std::string result_pointer(u32 result) const;
  void find_direct();
  void declare_kernels();
  void object();
  void open();
  void item(usize number);
  void run();

  const CSourceInput& in_;
  const ExportedFunction& f_;
  const ReplayPlan& plan_;
  const ExecutionPlan& work_;
  const std::string& name_;
  std::string out_;
  std::vector<i32> direct_;  // by fresh memory: the output whose pointer it is, or -1
};

// Fresh memory that is one output and nothing else is the caller's own.
void Writer::find_direct() {
  direct_.assign(work_.fresh.size(), -1);
  std::vector<int> uses(work_.fresh.size(), 0);
  const auto use = [&](u32 result) {
    const i32 fresh = plan_.results[result].fresh;
    if (fresh >= 0) ++uses[static_cast<usize>(fresh)];
    return fresh;
  };
  for (const auto& write : f_.writes) use(write.result);
  for (usize i = 0; i < f_.outputs.size(); ++i)
    if (const i32 fresh = use(f_.outputs[i].result); fresh >= 0)
      direct_[static_cast<usize>(fresh)] = static_cast<i32>(i);
  for (usize i = 0; i < uses.size(); ++i)
    if (uses[i] > 1) direct_[i] = -1;
}

std::string Writer::run_signature() const {
  std::string text = fmt::format("int {0}_run({0}* self", name_);
  for (const Value& value : f_.arguments)
    text += fmt::format(", {}{}* {}", value.is_written ? "" : "const ", c_type(value.dtype),
                        value.name);
  for (const std::string& variable : f_.variables) text += ", int64_t " + variable;
  for (const auto& output : f_.outputs)
    text += fmt::format(", {}* {}", c_type(output.value.dtype), output.value.name);
  return text + ")";
}

std::string Writer::header() {
  const std::string& n = name_;
  line("/* {}.h: a function that Doorbell exported. Link with lib{}.a. */", n, n);
  line("#ifndef DOORBELL_EXPORT_{0}_H\n#define DOORBELL_EXPORT_{0}_H\n", n);
  line("#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n");
  line("/* Weights and memory. One thread at a time; several of them at once are fine. */");
  line("typedef struct {0} {0};\n", n);
  line("/* Reads the weights, a safetensors file. NULL where it cannot: {}_error() says why. */",
       n);
  line("{0}* {0}_open(const char* weights);", n);
  line("/* Of this thread's last call that failed. */\nconst char* {}_error(void);\n", n);
  line("/* Arrays in row-major order that do not overlap:");
  for (const Value& value : f_.arguments)
    line(" *   {:<16} {}{}", value.name, describe(value), value.is_written ? ", changed" : "");
  for (const std::string& variable : f_.variables) line(" *   {:<16} a size", variable);
  for (const auto& output : f_.outputs)
    line(" *   {:<16} {}, written", output.value.name, describe(output.value));
  line(" * f16 and bf16 are their bits. Returns 0. */\n{};\n", run_signature());
  line("void {0}_close({0}* self);", n);
  line("\n#ifdef __cplusplus\n}}\n#endif\n#endif");
  return std::move(out_);
}

std::string Writer::pointer(const ExportMemory& memory) const {
  switch (memory.kind) {
    case ExportMemory::Kind::Arena: return fmt::format("self->arena{}", memory.index);
    case ExportMemory::Kind::Constant: return fmt::format("self->constant{}", memory.index);
    case ExportMemory::Kind::Argument: return f_.arguments[memory.index].name;
    case ExportMemory::Kind::State: return fmt::format("self->state{}", memory.index);
    case ExportMemory::Kind::Fresh: {
      const i32 output = direct_[memory.index];
      return output < 0 ? fmt::format("self->fresh{}", memory.index)
                        : f_.outputs[static_cast<usize>(output)].value.name;
    }
    default: return "NULL";
  }
}

std::string Writer::result_pointer(u32 number) const {
  return pointer(in_.layout.memory_of_result(number));
}

void Writer::declare_kernels() {
  std::vector<std::string> declared;
  for (const std::string& kernel : in_.kernels) {
    if (kernel.empty() || std::find(declared.begin(), declared.end(), kernel) != declared.end())
      continue;
    declared.push_back(kernel);
    line("void {}(void* const* buffers, const int64_t* variables, int64_t part);", kernel);
  }
}

void Writer::object() {
  line("\nstruct {} {{", name_);
  const auto member = [&](const char* what, usize count) {
    for (usize i = 0; i < count; ++i) line("  unsigned char* {}{};", what, i);
  };
  member("arena", plan_.arenas().size());
  member("constant", in_.layout.constants().size());
  member("state", f_.states.size());
  member("fresh", work_.fresh.size());
  member("next", f_.writes.size());
  line("  unsigned char unused;\n}};\n");
}

void Writer::open() {
  line("/* Zeroed, so that what a kernel reads beyond its values is the same each time. */");
  line("static int allocate(unsigned char** to, size_t bytes) {{");
  line("  const size_t rounded = (bytes + 64) & ~(size_t)63;");
  line("  *to = aligned_alloc(64, rounded);");
  line("  if (*to == NULL) return fail(\"no memory for %s%lld bytes\", \"\", (long long)bytes);");
  line("  memset(*to, 0, rounded);\n  return 0;\n}}\n");
  line("static int load({}* self, FILE* file, const char* header, size_t header_bytes) {{", name_);
  line("  (void)file, (void)header, (void)header_bytes;");
  const auto get = [&](const std::string& member, i64 bytes) {
    line("  if (allocate(&self->{}, {}) != 0) return -1;", member, bytes);
  };
  const auto read = [&](const std::string& member, const std::string& name, std::string_view dtype,
                        i64 bytes) {
    get(member, bytes);
    line(
        "  if (read_tensor(file, header, header_bytes, \"{}\", \"{}\", {}, self->{}) != 0)\n"
        "    return -1;",
        name, dtype, bytes, member);
  };
  for (usize i = 0; i < plan_.arenas().size(); ++i)
    get(fmt::format("arena{}", i), plan_.arenas()[i]->bytes());
  for (usize i = 0; i < in_.layout.constants().size(); ++i)
    read(fmt::format("constant{}", i), in_.layout.constants()[i].name, "U8",
         in_.layout.constants()[i].buffer->bytes());
  for (usize i = 0; i < f_.states.size(); ++i)
    read(fmt::format("state{}", i), f_.states[i].name, io::safetensors_name(f_.states[i].dtype),
         f_.states[i].bytes());
  for (usize i = 0; i < work_.fresh.size(); ++i)
    if (direct_[i] < 0) get(fmt::format("fresh{}", i), work_.fresh[i].bytes);
  for (usize i = 0; i < f_.writes.size(); ++i)
    get(fmt::format("next{}", i), in_.layout.result_bytes(f_.writes[i].result));
  line("  return 0;\n}}\n");
  line("{0}* {0}_open(const char* weights) {{", name_);
  line("#if defined(__x86_64__) && defined(__GNUC__)\n  __builtin_cpu_init();");
  std::string_view features = in_.cpu_features;
  while (!features.empty()) {
    const usize end = std::min(features.find(' '), features.size());
    line(
        "  if (!__builtin_cpu_supports(\"{0}\"))\n"
        "    return fail(\"this processor lacks %s\", \"{0}\", 0), NULL;",
        features.substr(0, end));
    features.remove_prefix(std::min(end + 1, features.size()));
  }
  line("#endif\n  FILE* file = fopen(weights, \"rb\");");
  line("  if (file == NULL) return fail(\"cannot open '%s'\", weights, 0), NULL;");
  line("  size_t header_bytes = 0;\n  char* header = read_header(file, &header_bytes);");
  line("  {0}* self = header == NULL ? NULL : calloc(1, sizeof({0}));", name_);
  line("  if (self != NULL && load(self, file, header, header_bytes) != 0) {{");
  line("    {}_close(self);\n    self = NULL;\n  }}", name_);
  line("  free(header);\n  fclose(file);\n  return self;\n}}\n");
  line("const char* {}_error(void) {{ return last_error; }}\n", name_);
  line("void {0}_close({0}* self) {{\n  if (self == NULL) return;", name_);
  const auto release = [&](const char* what, usize count) {
    for (usize i = 0; i < count; ++i) line("  free(self->{}{});", what, i);
  };
  release("arena", plan_.arenas().size());
  release("constant", in_.layout.constants().size());
  release("state", f_.states.size());
  release("fresh", work_.fresh.size());
  release("next", f_.writes.size());
  line("  free(self);\n}}\n");
}

void Writer::item(usize number) {
  const ExecutionPlan::Item& item = work_.items[number];
  std::string buffers;
  for (const ExecutionPlan::Argument& argument : work_.arguments_of(item)) {
    const std::string base = pointer(in_.layout.memory_of(argument));
    buffers += fmt::format("{}(unsigned char*){} + {}", buffers.empty() ? "" : ", ", base,
                           argument.offset);
  }
  line("  {{");
  line("    void* const buffers[] = {{{}}};", buffers);
  if (in_.kernels[number].empty()) {
    line("    memmove(buffers[0], buffers[1], {});\n  }}", item.copy_bytes);
    return;
  }
  std::string variables;
  for (const u32 variable : work_.variables_of(item)) variables += f_.variables[variable] + ", ";
  line("    const int64_t variables[] = {{{}0}};", variables);
  if (in_.threads[number] > 1) line("#ifdef _OPENMP\n#pragma omp parallel for\n#endif");
  line("    for (int64_t part = 0; part < {}; ++part)", in_.threads[number]);
  line("      {}(buffers, variables, part);\n  }}", in_.kernels[number]);
}

// Results are all read before any state changes, since one may be another's old value.
void Writer::run() {
  line("{} {{\n  (void)self;", run_signature());
  for (usize i = 0; i < work_.items.size(); ++i) item(i);
  for (usize i = 0; i < f_.writes.size(); ++i)
    line("  memcpy(self->next{}, {}, {});", i, result_pointer(f_.writes[i].result),
         in_.layout.result_bytes(f_.writes[i].result));
  for (const auto& output : f_.outputs) {
    const std::string from = result_pointer(output.result);
    if (from != output.value.name && output.value.bytes() > 0)
      line("  memcpy({}, {}, {});", output.value.name, from, output.value.bytes());
  }
  for (usize i = 0; i < f_.writes.size(); ++i)
    line("  memcpy({}, self->next{}, {});", pointer(in_.layout.memory_of(f_.writes[i].target)), i,
         in_.layout.result_bytes(f_.writes[i].result));
  line("  return 0;\n}}");
}

std::string Writer::source() {
  line("/* {0}.c: made by Doorbell; lib{0}.a holds it with its kernels. */", name_);
  line("#include \"{}.h\"\n", name_);
  line("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>");
  out_ += kCWeights;
  line("");
  declare_kernels();
  object();
  open();
  run();
  return std::move(out_);
}

}  // namespace

CSource write_c(const CSourceInput& input) {
  return {Writer(input).header(), Writer(input).source()};
}

}  // namespace doorbell::detail
