// Cell: what a Tensor shares with its copies, and how the library reaches it.
//
// Not for users.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "core/uop/graph.h"
#include "tensor/api/observer.h"
#include "tensor/api/tensor.h"

namespace doorbell::detail {

using core::Op;
using core::TensorGraph;
using core::UOp;
using core::UOpRef;

// Gives the node of a marked leaf an identity of its own, so that backward finds the cell. The cell
// outlives nothing: it takes itself out when it dies, and so a gradient that mentions the leaf does
// not keep it.
struct LeafTag final : core::Payload {
  std::atomic<Cell*> cell{nullptr};
};

struct Alias;
struct ViewStep;

// What a Tensor shares with its copies.
struct Cell {
  Cell(UOpRef value, bool tracked);
  ~Cell();
  void ref() { refs.fetch_add(1, std::memory_order_relaxed); }
  void unref() {
    // try_ref() needs an alias or a tag. Without one, the only handle goes without an exchange
    // among processors.
    const bool is_alone = refs.load(std::memory_order_acquire) == 1 && !alias && tag == nullptr;
    if (is_alone || refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }
  // False where the last handle is gone already.
  bool try_ref() {
    u32 count = refs.load(std::memory_order_relaxed);
    while (count != 0 && !refs.compare_exchange_weak(count, count + 1, std::memory_order_acquire)) {
    }
    return count != 0;
  }
  void set_value(UOpRef new_value, bool new_tracked);
  // The same value, stored.
  void set_stored(UOpRef stored);
  // The node to compute with; `with_gradient`: that of a marked leaf has its tag. Lives until the
  // value changes.
  UOp node(bool with_gradient);
  // From now on its elements are its own. Its views, if it has any, keep theirs.
  void unlink();
  void set_gradient(Tensor new_gradient, bool lost = false);
  // Throws where it was lost.
  const Tensor& gradient() const;

  std::atomic<u32> refs{1};
  UOpRef value;
  bool tracked;            // backward from here reaches a marked leaf
  bool is_leaf = false;    // marked by requires_grad
  LeafTag* tag = nullptr;  // counted; made when first marked
  UOpRef leaf_node;        // Detach(value) with the tag, made when first used
  Tensor grad;
  // Gives the value when it is first asked for: of a read through a mask, which may only be meant
  // as the place of an assignment. `value` is empty until then.
  std::unique_ptr<std::function<Tensor()>> deferred;
  void resolve();
  // Before anyone looks at `value`.
  void bring_up_to_date() {
    if (deferred) [[unlikely]]
      resolve();
    if (is_view && is_old()) [[unlikely]]
      refresh();
  }
  void refresh();
  // It had a gradient that a jitted function used up and did not keep: asking for it is an error.
  bool gradient_lost = false;
  u64 born = 0;  // the number of the observer while which it was made, or 0

  // ---- views (view.h)
  // With whom it shares elements; null where it never did. Shared because views may outlive the
  // tensor that they were made of.
  std::shared_ptr<Alias> alias;
  // Of a view: the way from the owner's elements to its own, but for the last `moves` steps, which
  // are the topmost nodes of `value`.
  std::shared_ptr<const std::vector<ViewStep>> steps;
  u64 seen = 0;  // the version of the alias that `value` is of
  u32 moves = 0;
  bool is_view = false;
  bool is_row_major = true;      // without gaps in the owner's elements
  bool is_expanded = false;      // a step repeats elements
  bool is_detached = false;      // gradients neither leave nor enter it
  bool is_of_leaf_view = false;  // made of a view that is a marked leaf
  bool is_old() const;
};

struct Access {
  static Cell& cell(const Tensor& tensor) {
    Cell* const cell = tensor.cell_;
    const bool is_plain =
        cell != nullptr && observer == nullptr && !cell->deferred && !cell->is_view;
    return is_plain ? *cell : tensor.cell();
  }
  // The same without telling the observer; null for no tensor.
  static Cell* cell_untraced(const Tensor& tensor) {
    if (tensor.cell_ != nullptr) tensor.cell_->bring_up_to_date();
    return tensor.cell_;
  }
  static Tensor deferred(std::function<Tensor()> read) {
    auto* cell = new Cell({}, false);
    cell->deferred = std::make_unique<std::function<Tensor()>>(std::move(read));
    return Tensor(cell);
  }
  static Tensor handle(Cell& cell) {
    cell.ref();
    return Tensor(&cell);
  }
  // Of a defined tensor, as it is.
  static Cell& known(const Tensor& tensor) { return *tensor.cell_; }
  // Takes over a count.
  static Tensor adopted(Cell& cell) { return Tensor(&cell); }
};

}  // namespace doorbell::detail
