// Capture: one call of a function as jit() sees it. Everything from outside that the function
// touches gets, for the time of the call, a Buffer node of its own over the same memory, so that
// the recorded graphs tell apart what happens to hold one value now and may not at the next call.
//
// Not for users. One thread's: work that the function hands to other threads is not seen.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include "tensor/api/bound_size.h"
#include "tensor/api/observer.h"
#include "tensor/engine/recorder.h"
#include "tensor/jit/form.h"
#include "tensor/jit/jit_program.h"

namespace doorbell::detail {

class Capture final : public Observer {
 public:
  Capture(Arguments arguments, std::span<const Size> sizes);
  // Without finish(): what the function assigned stays, the rest is as it was.
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  // What the function is called with in place of its arguments.
  const std::vector<Tensor>& stand_ins() const { return stand_ins_; }
  // Computes what the function left to do, gives everyone their values and replaces the outputs by
  // new tensors.
  std::unique_ptr<JitProgram> finish(std::span<Tensor* const> outputs);

  // ---- while this is the thread's observer ----
  void use(Cell& cell) override {
    if (!made(cell.born)) touch_outside(cell);
  }
  void use_gradient(Cell& cell, GradientAccess access) override;
  void draw(core::Device& device, i64 count, const UOpRef& node) override;
  void require(const Size& low, const Size& high, const std::string& what) override;

 private:
  struct Held {
    Tensor outside = {};   // the caller's
    Cell* cell = nullptr;  // what the function sees: the same, or a stand-in
    Tensor stand_in = {};
    UOpRef before = {}, proxy = {};          // the value, and what stands for it
    Tensor gradient = {}, gradient_in = {};  // likewise; undefined where there was none
    UOpRef gradient_proxy = {};
    bool gradient_written = false, gradient_used = false;  // used: read after the last writing
  };

  void touch_outside(Cell& cell);
  bool touch_owner(Cell& view);
  void hold(Held held, JitProgram::Holder holder);
  void add_slots(JitProgram::Slot slot, const UOpRef& proxy);
  void hold_gradient(u32 holder);
  void read_gradient(u32 holder);
  i32 want(const Tensor& tensor);
  void want_gradient(u32 holder);
  void want_changes();
  std::vector<UOpRef> compute_wanted();
  void give_back(std::span<const UOpRef> results);
  void name_variables();
  void refuse_inner_bindings(const Bindings& bound) const;
  std::vector<UOpRef> buffers_of(std::span<const UOpRef> results);

  engine::Recorder recorder_;
  std::unique_ptr<engine::Recorder::Scope> scope_;
  std::unique_ptr<JitProgram> program_;
  std::vector<Tensor> arguments_, stand_ins_;
  std::vector<Held> held_;                           // by holder
  absl::flat_hash_map<const Cell*, u32> holder_of_;  // looked up, never iterated
  absl::flat_hash_set<const Cell*> views_;           // likewise: of tensors from outside
  std::vector<UOpRef> proxies_;                      // by slot
  std::vector<UOpRef> wanted_;
};

}  // namespace doorbell::detail
