// Finds a build id among the ELF notes of loaded programs and libraries, or the id that macOS has
// in a load command.
#include "codegen/compile/build_id.h"

#include <fmt/format.h>
#if defined(__APPLE__)
#include <dlfcn.h>
#include <mach-o/loader.h>
#else
#include <link.h>
#endif

#include <cstring>

#include "base/util/types.h"

namespace doorbell::codegen {

namespace {

#if defined(__APPLE__)

std::string find(const void* address) {
  Dl_info found{};
  if (dladdr(address, &found) == 0) return {};
  const auto* header = static_cast<const mach_header_64*>(found.dli_fbase);
  const u8* at = reinterpret_cast<const u8*>(header + 1);
  for (u32 i = 0; i < header->ncmds; ++i) {
    uuid_command command{};
    std::memcpy(&command, at, sizeof(load_command));
    if (command.cmd == LC_UUID) {
      std::memcpy(&command, at, sizeof command);
      return std::string(reinterpret_cast<const char*>(command.uuid), sizeof command.uuid);
    }
    at += command.cmdsize;
  }
  return {};
}

#else

struct Search {
  ElfW(Addr) address;  // an address in the program or library with the id
  std::string id;
};

// The NT_GNU_BUILD_ID note of a segment of notes. [elf(5), "Notes (Nhdr)"]
std::string id_in(const u8* at, usize size) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof note);
    usize name = (note.n_namesz + 3u) & ~3u, data = (note.n_descsz + 3u) & ~3u;
    if (sizeof note + name + data > size) break;
    const u8* text = at + sizeof note;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(text, "GNU", 4) == 0) {
      const char* bytes = reinterpret_cast<const char*>(text + name);
      return std::string(bytes, note.n_descsz);
    }
    at += sizeof note + name + data;
    size -= sizeof note + name + data;
  }
  return {};
}

int visit(dl_phdr_info* info, usize, void* context) {
  auto* search = static_cast<Search*>(context);
  bool holds_it = false;
  std::string id;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& p = info->dlpi_phdr[i];
    ElfW(Addr) begin = info->dlpi_addr + p.p_vaddr;
    if (p.p_type == PT_LOAD && search->address >= begin && search->address < begin + p.p_memsz)
      holds_it = true;
    if (p.p_type == PT_NOTE && id.empty()) {
      id = id_in(reinterpret_cast<const u8*>(begin), p.p_memsz);
    }
  }
  if (!holds_it) return 0;
  search->id = id;
  return 1;
}

std::string find(const void* address) {
  Search search{.address = reinterpret_cast<ElfW(Addr)>(address), .id = {}};
  dl_iterate_phdr(visit, &search);
  return search.id;
}

#endif

}  // namespace

const std::string& build_id() {
  static const auto* id = [] {
    std::string found = find(reinterpret_cast<const void*>(&build_id));
    return new std::string(found.empty() ? __DATE__ " " __TIME__ : found);
  }();
  return *id;
}

std::string build_id_at(const void* address) {
  std::string text;
  for (char c : find(address)) text += fmt::format("{:02x}", static_cast<u8>(c));
  return text;
}

}  // namespace doorbell::codegen
