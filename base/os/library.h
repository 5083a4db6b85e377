// Shared libraries opened while running: the vendors' compilers and graphics interfaces, absent on
// most machines.
#pragma once

#include <span>
#include <string>

#include "base/util/result.h"
#include "base/util/try.h"

namespace doorbell::os {

// Closed by its destructor; function pointers from it must not outlive it.
class Library {
 public:
  // Loads the first of the names that the system's loader finds; the error lists all of them.
  static Result<Library> open(std::span<const std::string> names);
  // The same, never closed: for a library whose threads may run when the process ends.
  static Result<const Library*> open_for_good(std::span<const std::string> names);

  Library(Library&& other) noexcept
      : handle_(std::exchange(other.handle_, nullptr)), name_(std::move(other.name_)) {}
  Library& operator=(Library&& other) noexcept {
    std::swap(handle_, other.handle_);
    std::swap(name_, other.name_);
    return *this;
  }
  ~Library();

  // TRY(auto compile, library.function<int(const char*)>("vendorCompile"));
  template <class Signature>
  Result<Signature*> function(const char* symbol) const {
    TRY(void* address, find(symbol));
    return reinterpret_cast<Signature*>(address);
  }

  const std::string& name() const { return name_; }

 private:
  Library(void* handle, std::string name) : handle_(handle), name_(std::move(name)) {}
  Result<void*> find(const char* symbol) const;

  void* handle_ = nullptr;
  std::string name_;
};

}  // namespace doorbell::os
