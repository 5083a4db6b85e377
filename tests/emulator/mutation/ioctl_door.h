// Mutants of what a driver tells a kernel: each bit of each argument of its ioctls, and of the
// records to which they lead; calls left out, and made twice. An IoctlDoor stands between the
// driver and the emulated kernel, records what passes, and changes it. Which records a call has
// says the vendor's.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tests/emulator/mutation/watched_files.h"

namespace doorbell::testing {

struct IoctlMutant {
  enum class Change : u8 { Bit, Scale, Drop, Twice };
  std::string role;  // "RM_ALLOC of class 0xa06c", "CREATE_QUEUE type 2"
  Change change = Change::Bit;
  usize offset = 0;  // of the bytes
  u32 bit = 0;       // of the byte
  usize bytes = 0;   // of what is multiplied, by `times`
  u32 times = 1;
  std::string name;  // "NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS: engineType bit 3"
};

// "bit", "scale", "drop", "twice".
std::string name_of(IoctlMutant::Change change);

class IoctlDoor : public FileWatcher {
 public:
  // Null: records.
  explicit IoctlDoor(const IoctlMutant* mutant) : mutant_(mutant) {}

  std::unique_ptr<os::Files> wrap(std::unique_ptr<os::Files> files) {
    return watch_files(std::move(files), *this);
  }
  // Of each call and each kind of record the bits, once; none of what only the kernel writes, of
  // pointers, which would change the test's own memory, and of arrays behind the second element.
  const std::vector<IoctlMutant>& mutants() const { return mutants_; }
  // Calls and records that are not known, so that nothing of them is changed.
  const std::set<std::string>& unknown() const { return unknown_; }
  bool happened() const { return happened_; }

  Result<int> ioctl(os::File& file, unsigned long request, void* argument) override;

 protected:
  // A record within a call.
  struct Part {
    std::string role;
    std::span<std::byte> bytes;
  };
  // The first part of a call stands for the whole of it. None: nothing of the call is changed.
  virtual std::vector<Part> parts_of(unsigned long request, std::byte* argument) = 0;
  // Whether a call that is made twice does anything the second time, but be told the same.
  virtual bool acts(const std::string& role) const = 0;

  const IoctlMutant* mutant() const { return mutant_; }
  // Whether this is a recording, and the first time that the role passes.
  bool is_new(const std::string& role);
  void add(IoctlMutant mutant) { mutants_.push_back(std::move(mutant)); }
  // All bits of a field.
  void add_bits(const std::string& role, const std::string& field, usize offset, usize bytes);
  void note_unknown(std::string what) { unknown_.insert(std::move(what)); }
  void note_happened() { happened_ = true; }

 private:
  void add_call(const std::string& role);
  Result<int> call_changed(os::File& file, unsigned long request, const Part& part, void* argument);
  static Result<int> repeat(os::File& file, unsigned long request, const Part& part,
                            void* argument);

  const IoctlMutant* mutant_;
  std::map<std::string, bool> seen_;
  std::vector<IoctlMutant> mutants_;
  std::set<std::string> unknown_;
  bool happened_ = false;
};

// Changes what the mutant changes of a record's bytes.
void change(const IoctlMutant& mutant, std::span<std::byte> record);

}  // namespace doorbell::testing
