// Observer: what records the work of a thread, told what its tensors are used for. jit's capture is
// one (tensor/jit/capture.h); the tensor API knows no more of jit than this.
//
// Not for users. Thread safety: each thread has its own observer; work that it hands to other
// threads is not seen. Without an observer each call costs a thread-local load and a branch.
#pragma once

#include <string>

#include "core/device/device.h"
#include "core/uop/uop.h"
#include "tensor/api/size.h"

namespace doorbell::detail {

struct Cell;

class Observer {
 public:
  enum class GradientAccess : u8 { Read, Write };

  // `number`: of this observer alone in the process, and not 0.
  explicit Observer(u64 number) : number_(number) {}
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  // Before the value of a tensor is read or replaced. The observer may replace it.
  virtual void use(Cell& cell) = 0;
  // Before its gradient is read or replaced. The observer may replace it before a read.
  virtual void use_gradient(Cell& cell, GradientAccess access) = 0;
  // Random numbers come from this node: {key, counter} of `count` elements on the device.
  virtual void draw(core::Device& device, i64 count, const core::UOpRef& node) = 0;
  // The operation is right only while low <= high; `what` begins the error where it is not.
  virtual void require(const Size& low, const Size& high, const std::string& what) = 0;

  // A cell made while this is its thread's observer keeps the number in Cell::born.
  u64 cell_born() {
    ++cells_alive_;
    return number_;
  }
  void cell_gone(u64 born) { cells_alive_ -= born == number_; }
  bool made(u64 born) const { return born == number_; }

 protected:
  ~Observer() = default;
  i64 cells_alive() const { return cells_alive_; }

 private:
  const u64 number_;
  i64 cells_alive_ = 0;
};

// This thread's, or null. Borrowed from whoever sets it.
extern constinit thread_local Observer* observer;

// Throws where there is an observer: what was done would not be done again by a replay.
void refuse_in_capture(const char* what);

}  // namespace doorbell::detail
