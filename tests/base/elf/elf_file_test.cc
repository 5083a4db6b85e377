// The ELF reader on the smallest file by hand, and on this very program.
#include "base/elf/elf_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>

namespace doorbell::elf {
namespace {

// A header, two section headers (null and names), and the names.
std::vector<u8> smallest() {
  constexpr char kNames[] = "\0.names";
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = EM_X86_64;
  header.e_type = ET_REL;
  header.e_shoff = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 2;
  header.e_shstrndx = 1;
  Elf64_Shdr sections[2]{};
  sections[1].sh_name = 1;
  sections[1].sh_type = SHT_STRTAB;
  sections[1].sh_offset = sizeof header + sizeof sections;
  sections[1].sh_size = sizeof kNames;
  std::vector<u8> bytes(sizeof header + sizeof sections + sizeof kNames);
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, sections, sizeof sections);
  std::memcpy(bytes.data() + sizeof header + sizeof sections, kNames, sizeof kNames);
  return bytes;
}

TEST(ElfFile, RefusesWhatIsNoElf) {
  std::vector<u8> bytes(64, 'x');
  auto file = ElfFile::parse(bytes);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message, "no ELF file: it begins with 78 78 78 78");
  EXPECT_FALSE(ElfFile::parse({}));
}

TEST(ElfFile, RefusesEveryPrefix) {
  std::vector<u8> bytes = smallest();
  for (usize i = 0; i < bytes.size(); ++i) {
    EXPECT_FALSE(ElfFile::parse(std::span(bytes).first(i))) << i;
  }
  EXPECT_TRUE(ElfFile::parse(bytes));
}

TEST(ElfFile, RefusesASectionOutsideTheFile) {
  std::vector<u8> bytes = smallest();
  // sh_offset of the second section header.
  u64 far = ~u64{0} - 4;
  std::memcpy(bytes.data() + sizeof(Elf64_Ehdr) + sizeof(Elf64_Shdr) + 24, &far, 8);
  auto file = ElfFile::parse(bytes);
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().message,
            "section at 18446744073709551611 with 8 bytes lies outside the ELF file of 200 bytes");
}

TEST(ElfFile, RefusesThirtyTwoBits) {
  std::vector<u8> bytes = smallest();
  bytes[EI_CLASS] = ELFCLASS32;
  EXPECT_EQ(ElfFile::parse(bytes).error().kind, ErrorKind::Unsupported);
}

TEST(ElfFile, ReadsThisProgram) {
  std::ifstream stream("/proc/self/exe", std::ios::binary);
  std::vector<u8> bytes{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
  auto file = ElfFile::parse(bytes);
  ASSERT_TRUE(file) << to_string(file.error());
  const Section* text = file->find_section(".text");
  ASSERT_NE(text, nullptr);
  EXPECT_EQ(text->data.size(), text->size);
  EXPECT_NE(text->flags & SHF_EXECINSTR, 0u);
  EXPECT_FALSE(file->segments().empty());
  EXPECT_EQ(file->find_section(".no such"), nullptr);
  const Section* dynamic = file->find_section(".dynsym");
  ASSERT_NE(dynamic, nullptr);
  auto symbols = file->symbols(*dynamic);
  ASSERT_TRUE(symbols) << to_string(symbols.error());
  EXPECT_EQ((*symbols)[0].name, "");
  EXPECT_FALSE(file->symbols(*text));
  EXPECT_FALSE(file->relocations(*text));
}

}  // namespace
}  // namespace doorbell::elf
