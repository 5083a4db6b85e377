// Optimisers and schedules, with PyTorch's arguments; tinygrad's b1 and b2 too. For groups of
// parameters and states see optim_state.h.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>

#include "python/binding/array.h"
#include "python/binding/module.h"
#include "python/binding/optim_state.h"
#include "tensor/nn/schedule.h"

namespace doorbell::python {

namespace {

using Betas = std::array<f64, 2>;

// Makes an optimizer whose groups begin with the same options; then sets the options in each dict.
template <class Optimizer, class Options>
void make(Optimizer* self, nb::handle params, f64 lr, const Options& options) {
  const std::vector<GivenGroup> given = groups_of(params);
  std::vector<typename Optimizer::Group> groups;
  for (const GivenGroup& one : given) groups.push_back({one.parameters, lr, options});
  new (self) Optimizer(groups);
  try {
    for (usize i = 0; i < given.size(); ++i) set_options(*self, i, given[i].options);
  } catch (...) {
    self->~Optimizer();
    throw;
  }
}

template <class Optimizer>
void define_groups(nb::class_<Optimizer, nn::Optimizer>& type) {
  type.def(
      "add_param_group",
      [](Optimizer& self, const nb::dict& group) {
        GivenGroup given = group_of(group);
        // Begins with the first group's options; then sets the group's own.
        self.add_param_group({given.parameters, self.learning_rate()});
        const usize last = self.group_count() - 1;
        set_options(self, last, options_dict(self, 0));
        set_options(self, last, given.options);
      },
      nb::arg("param_group"),
      nb::sig("def add_param_group(self, param_group: dict[str, typing.Any]) -> None"),
      "More parameters, with options of their own: a dict with \"params\" and what differs from "
      "the first group.");
}

template <class Stepper>
void step(Stepper& self, const nb::args& also) {
  const std::vector<Tensor> others = also.size() == 0 ? std::vector<Tensor>{} : tensors_of(also);
  Unlocked unlocked;
  self.step(others);
}

void define_base(nb::module_& module) {
  auto base = nb::class_<nn::Optimizer>(module, "Optimizer", "What all optimizers have in common.");
  define_state(base);
  base.def("step", &step<nn::Optimizer>, nb::arg("also"),
           nb::sig("def step(self, *also: Tensor) -> None"),
           "Changes every parameter that has a gradient, and computes it; `also` (the loss, say) "
           "with it.\n\nRaises ValueError where none has a gradient.")
      .def("zero_grad", &nn::Optimizer::zero_grad, "Forgets the gradients of all parameters.")
      .def("schedule_step", &nn::Optimizer::lazy_step,
           "The change alone, lazily: what has to be realized for it.")
      .def_prop_rw(
          "lr", [](const nn::Optimizer& self) { return self.learning_rate(); },
          [](nn::Optimizer& self, f64 rate) { self.set_learning_rate(rate); },
          "The learning rate, of the first group; setting it sets that of all.")
      .def_prop_ro(
          "params", [](const nn::Optimizer& self) { return self.parameters(); },
          "What it changes.");
  nb::class_<nn::OptimizerGroup>(module, "OptimizerGroup", "Several optimizers that step as one.")
      .def(
          "__init__",
          [](nn::OptimizerGroup* self, const nb::args& given) {
            std::vector<nn::Optimizer*> optimizers;
            for (nb::handle one : given) optimizers.push_back(nb::cast<nn::Optimizer*>(one));
            new (self) nn::OptimizerGroup(optimizers);
          },
          nb::keep_alive<1, 2>(), nb::arg("optimizers"),
          nb::sig("def __init__(self, *optimizers: Optimizer) -> None"))
      .def("step", &step<nn::OptimizerGroup>, nb::arg("also"),
           nb::sig("def step(self, *also: Tensor) -> None"), "As Optimizer.step, for all at once.")
      .def("zero_grad", &nn::OptimizerGroup::zero_grad)
      .def("schedule_step", &nn::OptimizerGroup::lazy_step);
}

constexpr const char* kParams =
    "params: collections.abc.Iterable[Tensor] | collections.abc.Iterable[dict[str, typing.Any]], "
    "lr: float = 0.001";

void define_sgd(nb::module_& module) {
  static const std::string sgd =
      std::string("def __init__(self, ") + kParams +
      ", momentum: float = 0.0, weight_decay: float = 0.0, nesterov: bool = False, classic: bool "
      "= False) -> None";
  static const std::string lars =
      std::string("def __init__(self, ") + kParams +
      ", momentum: float = 0.9, weight_decay: float = 0.0001, nesterov: bool = False, classic: "
      "bool = True, tcoef: float = 0.001) -> None";
  auto sgd_type =
      nb::class_<nn::SGD, nn::Optimizer>(
          module, "SGD",
          "The gradient times the rate, or the momentum of gradients.\n\n"
          ">>> w = Tensor([1.0], requires_grad=True)\n>>> optimizer = nn.optim.SGD([w], lr=0.1)\n"
          ">>> (w * 2).sum().backward()\n>>> optimizer.step()\n>>> w\ntensor([0.8000])")
          .def(
              "__init__",
              [](nn::SGD* self, nb::handle params, f64 lr, f64 momentum, f64 decay, bool nesterov,
                 bool classic) {
                make(self, params, lr,
                     nn::SGDOptions{.momentum = momentum,
                                    .weight_decay = decay,
                                    .nesterov = nesterov,
                                    .classic = classic});
              },
              nb::arg("params"), nb::arg("lr") = 1e-3, nb::arg("momentum") = 0.0,
              nb::arg("weight_decay") = 0.0, nb::arg("nesterov") = false,
              nb::arg("classic") = false, nb::sig(sgd.c_str()));
  auto lars_type =
      nb::class_<nn::LARS, nn::Optimizer>(
          module, "LARS",
          "SGD whose rate is scaled, per parameter, by tcoef * |w| / "
          "(|g| + weight_decay * |w|).")
          .def(
              "__init__",
              [](nn::LARS* self, nb::handle params, f64 lr, f64 momentum, f64 decay, bool nesterov,
                 bool classic, f64 trust) {
                make(self, params, lr,
                     nn::LARSOptions{.momentum = momentum,
                                     .weight_decay = decay,
                                     .nesterov = nesterov,
                                     .classic = classic,
                                     .trust_coefficient = trust});
              },
              nb::arg("params"), nb::arg("lr") = 1e-3, nb::arg("momentum") = 0.9,
              nb::arg("weight_decay") = 1e-4, nb::arg("nesterov") = false,
              nb::arg("classic") = true, nb::arg("tcoef") = 1e-3, nb::sig(lars.c_str()));
  define_groups(sgd_type);
  define_groups(lars_type);
}

void define_muon(nb::module_& module) {
  static const std::string muon =
      std::string("def __init__(self, ") + kParams +
      ", momentum: float = 0.95, weight_decay: float = 0.1, ns_steps: int = 5, nesterov: bool = "
      "True, ns_coefficients: collections.abc.Sequence[float] = (3.4445, -4.775, 2.0315), eps: "
      "float = 1e-07) -> None";
  auto muon_type =
      nb::class_<nn::Muon, nn::Optimizer>(
          module, "Muon",
          "Momentum made orthogonal, for parameters that are matrices; "
          "ValueError for others.")
          .def(
              "__init__",
              [](nn::Muon* self, nb::handle params, f64 lr, f64 momentum, f64 decay, i64 steps,
                 bool nesterov, const std::vector<f64>& coefficients, f64 eps) {
                make(self, params, lr,
                     nn::MuonOptions{.weight_decay = decay,
                                     .momentum = momentum,
                                     .nesterov = nesterov,
                                     .ns_coefficients = coefficients,
                                     .eps = eps,
                                     .ns_steps = steps});
              },
              nb::arg("params"), nb::arg("lr") = 1e-3, nb::arg("momentum") = 0.95,
              nb::arg("weight_decay") = 0.1, nb::arg("ns_steps") = 5, nb::arg("nesterov") = true,
              nb::arg("ns_coefficients") = nn::MuonOptions().ns_coefficients, nb::arg("eps") = 1e-7,
              nb::sig(muon.c_str()));
  define_groups(muon_type);
}

// Adam and its kin: betas=(b1, b2) as PyTorch has them, or b1=, b2= as tinygrad.
template <class Optimizer, class Options>
void define_moments(nb::module_& module, const char* name, f64 eps, f64 decay, const char* text) {
  auto type = nb::class_<Optimizer, nn::Optimizer>(module, name, text);
  type.def(
      "__init__",
      [](Optimizer* self, nb::handle params, f64 lr, const Betas& betas, f64 epsilon,
         f64 weight_decay) {
        make(self, params, lr,
             Options{.betas = betas, .eps = epsilon, .weight_decay = weight_decay});
      },
      nb::arg("params"), nb::arg("lr") = 1e-3, nb::arg("betas") = Betas{0.9, 0.999},
      nb::arg("eps") = eps, nb::arg("weight_decay") = decay,
      nb::sig("def __init__(self, params: collections.abc.Iterable[Tensor] | "
              "collections.abc.Iterable[dict[str, typing.Any]], lr: float = 0.001, betas: "
              "tuple[float, float] = (0.9, 0.999), eps: float = ..., weight_decay: float = ...) "
              "-> None"));
  type.def(
      "__init__",
      [](Optimizer* self, nb::handle params, f64 lr, f64 b1, f64 b2, f64 epsilon,
         f64 weight_decay) {
        make(self, params, lr,
             Options{.betas = {b1, b2}, .eps = epsilon, .weight_decay = weight_decay});
      },
      nb::arg("params"), nb::arg("lr") = 1e-3, nb::arg("b1") = 0.9, nb::arg("b2") = 0.999,
      nb::arg("eps") = eps, nb::arg("weight_decay") = decay,
      nb::sig("def __init__(self, params: collections.abc.Iterable[Tensor] | "
              "collections.abc.Iterable[dict[str, typing.Any]], lr: float = 0.001, b1: float = "
              "0.9, b2: float = 0.999, eps: float = ..., weight_decay: float = ...) -> None"));
  define_groups(type);
}

template <class Schedule>
std::vector<f64> last_rates(const Schedule& self) {
  std::vector<f64> rates;
  for (usize group = 0; group < self.group_count(); ++group)
    rates.push_back(self.get_last_lr(group));
  return rates;
}

nb::dict schedule_state(const nn::LRScheduler& self) {
  nb::dict state;
  state["last_epoch"] = self.last_epoch();
  state["base_lrs"] = self.base_lrs();
  return state;
}

void load_schedule(nn::LRScheduler& self, const nb::dict& state) {
  self.load(nb::cast<i64>(state["last_epoch"]), nb::cast<std::vector<f64>>(state["base_lrs"]));
}

nb::dict plateau_state(const nn::ReduceLROnPlateau& self) {
  nb::dict state;
  state["best"] = self.state().best;
  state["num_bad_epochs"] = self.state().num_bad_epochs;
  state["cooldown_counter"] = self.state().cooldown_counter;
  state["last_epoch"] = self.state().last_epoch;
  return state;
}

void load_plateau(nn::ReduceLROnPlateau& self, const nb::dict& state) {
  self.load({.best = nb::cast<f64>(state["best"]),
             .num_bad_epochs = nb::cast<i64>(state["num_bad_epochs"]),
             .cooldown_counter = nb::cast<i64>(state["cooldown_counter"]),
             .last_epoch = nb::cast<i64>(state["last_epoch"])});
}

void define_schedules(nb::module_& module) {
  nb::class_<nn::LRScheduler>(module, "LRScheduler", "What schedules that count steps have.")
      .def("step", &nn::LRScheduler::step, "The rate of the next step.")
      .def("get_last_lr", &last_rates<nn::LRScheduler>, "The rate of each group of parameters.")
      .def("state_dict", &schedule_state, nb::sig("def state_dict(self) -> dict[str, typing.Any]"),
           "The steps done and the rates at the start, by PyTorch's names.")
      .def("load_state_dict", &load_schedule, nb::arg("state_dict"),
           nb::sig("def load_state_dict(self, state_dict: dict[str, typing.Any]) -> None"),
           "Goes on where another schedule was, ours or PyTorch's. The optimizer's rate is in its "
           "own state.")
      .def_prop_ro("last_epoch", &nn::LRScheduler::last_epoch, "The steps done.");
  nb::class_<nn::MultiStepLR, nn::LRScheduler>(module, "MultiStepLR",
                                               "Times gamma at each milestone.")
      .def(
          "__init__",
          [](nn::MultiStepLR* self, nn::Optimizer& optimizer, std::vector<i64> milestones,
             f64 gamma) {
            new (self)
                nn::MultiStepLR(optimizer, {.milestones = std::move(milestones), .gamma = gamma});
          },
          nb::keep_alive<1, 2>(), nb::arg("optimizer"), nb::arg("milestones"),
          nb::arg("gamma") = 0.1);
  nb::class_<nn::CosineAnnealingLR, nn::LRScheduler>(
      module, "CosineAnnealingLR", "Half a cosine from the optimizer's rate to eta_min.")
      .def(
          "__init__",
          [](nn::CosineAnnealingLR* self, nn::Optimizer& optimizer, i64 T_max, f64 eta_min,
             i64 warmup) {
            new (self) nn::CosineAnnealingLR(
                optimizer, {.T_max = T_max, .eta_min = eta_min, .warmup_steps = warmup});
          },
          nb::keep_alive<1, 2>(), nb::arg("optimizer"), nb::arg("T_max"), nb::arg("eta_min") = 0.0,
          nb::arg("warmup_steps") = 0);
  nb::class_<nn::OneCycleLR, nn::LRScheduler>(module, "OneCycleLR",
                                              "Up to max_lr and down to nearly nothing.")
      .def(
          "__init__",
          [](nn::OneCycleLR* self, nn::Optimizer& optimizer, f64 max_lr, i64 total, f64 start,
             const std::string& strategy, f64 div, f64 final_div, bool three_phase) {
            const auto anneal = choose<nn::Anneal>(
                strategy, {{"cos", nn::Anneal::Cos}, {"linear", nn::Anneal::Linear}});
            new (self) nn::OneCycleLR(optimizer, {.max_lr = max_lr,
                                                  .total_steps = total,
                                                  .pct_start = start,
                                                  .anneal_strategy = anneal,
                                                  .div_factor = div,
                                                  .final_div_factor = final_div,
                                                  .three_phase = three_phase});
          },
          nb::keep_alive<1, 2>(), nb::arg("optimizer"), nb::arg("max_lr"), nb::arg("total_steps"),
          nb::arg("pct_start") = 0.3, nb::arg("anneal_strategy") = "cos",
          nb::arg("div_factor") = 25.0, nb::arg("final_div_factor") = 1e4,
          nb::arg("three_phase") = false);
}

void define_plateau(nb::module_& module) {
  nb::class_<nn::ReduceLROnPlateau>(
      module, "ReduceLROnPlateau",
      "Times factor when a metric has not become better for more than `patience` steps.")
      .def(
          "__init__",
          [](nn::ReduceLROnPlateau* self, nn::Optimizer& optimizer, const std::string& mode,
             f64 factor, i64 patience, f64 threshold, const std::string& threshold_mode,
             i64 cooldown, f64 min_lr, f64 eps) {
            new (self) nn::ReduceLROnPlateau(
                optimizer, {.mode = choose<nn::PlateauMode>(mode, {{"min", nn::PlateauMode::Min},
                                                                   {"max", nn::PlateauMode::Max}}),
                            .factor = factor,
                            .patience = patience,
                            .threshold = threshold,
                            .threshold_mode = choose<nn::Threshold>(
                                threshold_mode, {{"rel", nn::Threshold::Relative},
                                                 {"abs", nn::Threshold::Absolute}}),
                            .cooldown = cooldown,
                            .min_lr = min_lr,
                            .eps = eps});
          },
          nb::keep_alive<1, 2>(), nb::arg("optimizer"), nb::arg("mode") = "min",
          nb::arg("factor") = 0.1, nb::arg("patience") = 10, nb::arg("threshold") = 1e-4,
          nb::arg("threshold_mode") = "rel", nb::arg("cooldown") = 0, nb::arg("min_lr") = 0.0,
          nb::arg("eps") = 1e-8)
      .def("step", &nn::ReduceLROnPlateau::step, nb::arg("metrics"))
      .def("get_last_lr", &last_rates<nn::ReduceLROnPlateau>)
      .def("state_dict", &plateau_state, nb::sig("def state_dict(self) -> dict[str, typing.Any]"),
           "What it has seen of the metric, by PyTorch's names.")
      .def("load_state_dict", &load_plateau, nb::arg("state_dict"),
           nb::sig("def load_state_dict(self, state_dict: dict[str, typing.Any]) -> None"),
           "Goes on where another schedule was, ours or PyTorch's.");
}

}  // namespace

void define_optimizers(nb::module_& module) {
  define_param_group(module);
  define_base(module);
  define_sgd(module);
  define_muon(module);
  define_moments<nn::Adam, nn::AdamOptions>(module, "Adam", 1e-8, 0.0,
                                            "Weight decay is added to the gradient.");
  define_moments<nn::AdamW, nn::AdamOptions>(module, "AdamW", 1e-8, 1e-2,
                                             "Weight decay shrinks the parameter itself.");
  define_moments<nn::LAMB, nn::LAMBOptions>(
      module, "LAMB", 1e-6, 0.0,
      "AdamW's direction, scaled per parameter to the size of the parameter.");
  define_schedules(module);
  define_plateau(module);
}

}  // namespace doorbell::python
