// MultiheadAttention, and gradients kept within bounds.
#include <nanobind/nanobind.h>

#include "python/binding/layers.h"
#include "tensor/nn/attention.h"
#include "tensor/nn/clip.h"

namespace doorbell::python {

namespace {

nb::dict attention_arguments(const nn::MultiheadAttention& layer) {
  nb::dict arguments;
  arguments["embed_dim"] = layer.embed_dim;
  arguments["num_heads"] = layer.num_heads;
  arguments["dropout"] = layer.options.dropout;
  arguments["bias"] = layer.options.bias;
  if (layer.options.add_bias_kv) arguments["add_bias_kv"] = true;
  if (layer.options.add_zero_attn) arguments["add_zero_attn"] = true;
  arguments["kdim"] = layer.options.kdim;
  arguments["vdim"] = layer.options.vdim;
  arguments["batch_first"] = layer.options.batch_first;
  return arguments;
}

nb::tuple attend(const nn::MultiheadAttention& self, const Tensor& query, const Tensor& key,
                 const Tensor& value, const MaybeTensor& padding, bool need_weights,
                 const MaybeTensor& mask, bool average, bool is_causal) {
  const auto [output, weights] = self(query, key, value,
                                      {.key_padding_mask = padding.tensor,
                                       .attn_mask = is_causal ? Tensor() : mask.tensor,
                                       .need_weights = need_weights,
                                       .average_attn_weights = average,
                                       .is_causal = is_causal});
  return nb::make_tuple(output, to_python(weights));
}

std::vector<Tensor> parameters_of(nb::handle given) {
  if (is_tensor(given)) return {as_tensor(given)};
  std::vector<Tensor> parameters;
  const nb::object items = nb::borrow(given);
  for (nb::handle item : items) parameters.push_back(as_tensor(item));
  return parameters;
}

}  // namespace

void define_attention(nb::module_& module) {
  nb::class_<nn::MultiheadAttention> type(
      module, "MultiheadAttention", nb::dynamic_attr(),
      "Attention with several heads: layer(query, key, value) gives the output and the weights, "
      "averaged over heads. Inputs are (length, batch, embed_dim), or (batch, length, embed_dim) "
      "with batch_first. In masks of bools True means not allowed, as in PyTorch's layer; "
      "is_causal "
      "makes the mask itself. add_bias_kv and add_zero_attn put a key and a value behind the "
      "others: learnt ones, and zeros.\n\n"
      ">>> x = Tensor.ones(4, 2, 6)\n>>> output, weights = nn.MultiheadAttention(6, 3)(x, x, x)\n"
      ">>> output.shape, weights.shape\n((4, 2, 6), (2, 4, 4))");
  define_layer_basics<nn::MultiheadAttention>(type, "MultiheadAttention", &attention_arguments);
  type.def(
          "__init__",
          [](nn::MultiheadAttention* self, i64 embed_dim, i64 heads, f64 dropout, bool bias,
             bool add_bias_kv, bool add_zero_attn, std::optional<i64> kdim, std::optional<i64> vdim,
             bool batch_first, const DevicesArg& device) {
            new (self) nn::MultiheadAttention(embed_dim, heads,
                                              {.dropout = dropout,
                                               .bias = bias,
                                               .add_bias_kv = add_bias_kv,
                                               .add_zero_attn = add_zero_attn,
                                               .batch_first = batch_first,
                                               .kdim = kdim,
                                               .vdim = vdim,
                                               .device = device.joined()});
          },
          nb::arg("embed_dim"), nb::arg("num_heads"), nb::arg("dropout") = 0.0,
          nb::arg("bias") = true, nb::arg("add_bias_kv") = false, nb::arg("add_zero_attn") = false,
          nb::arg("kdim").none() = nb::none(), nb::arg("vdim").none() = nb::none(),
          nb::arg("batch_first") = false, nb::arg("device").none() = nb::none(),
          nb::sig("def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: "
                  "bool = True, add_bias_kv: bool = False, add_zero_attn: bool = False, kdim: int "
                  "| None = None, vdim: int | None = None, batch_first: bool = False, device: str "
                  "| None = None) -> None"))
      .def("__call__", &attend, nb::arg("query"), nb::arg("key"), nb::arg("value"),
           nb::arg("key_padding_mask").none() = nb::none(), nb::arg("need_weights") = true,
           nb::arg("attn_mask").none() = nb::none(), nb::arg("average_attn_weights") = true,
           nb::arg("is_causal") = false,
           nb::sig("def __call__(self, query: Tensor, key: Tensor, value: Tensor, "
                   "key_padding_mask: Tensor | None = None, need_weights: bool = True, attn_mask: "
                   "Tensor | None = None, average_attn_weights: bool = True, is_causal: bool = "
                   "False) -> tuple[Tensor, Tensor | None]"));
  for (const auto& [name, member] :
       {std::pair{"in_proj_weight", &nn::MultiheadAttention::in_proj_weight},
        std::pair{"in_proj_bias", &nn::MultiheadAttention::in_proj_bias},
        std::pair{"bias_k", &nn::MultiheadAttention::bias_k},
        std::pair{"bias_v", &nn::MultiheadAttention::bias_v},
        std::pair{"q_proj_weight", &nn::MultiheadAttention::q_proj_weight},
        std::pair{"k_proj_weight", &nn::MultiheadAttention::k_proj_weight},
        std::pair{"v_proj_weight", &nn::MultiheadAttention::v_proj_weight}})
    tensor_attribute(type, name, member);
  type.def_ro("out_proj", &nn::MultiheadAttention::out_proj, "The layer behind the heads.");
}

void define_clipping(nb::module_& module) {
  module.def(
      "clip_grad_norm_",
      [](nb::handle parameters, f64 max_norm, nb::handle norm_type, bool refuses) {
        const f64 order = nb::cast<f64>(nb::float_(norm_type));
        const std::vector<Tensor> given = parameters_of(parameters);
        Unlocked unlocked;
        if (refuses) {
          const f64 norm = nn::clip_grad_norm(given, 1e300, order).item<f64>();
          if (!std::isfinite(norm))
            throw fail(ErrorKind::Invalid, "the {}-norm of the gradients is {}", order, norm);
        }
        return nn::clip_grad_norm(given, max_norm, order);
      },
      nb::arg("parameters"), nb::arg("max_norm"), nb::arg("norm_type") = 2.0,
      nb::arg("error_if_nonfinite") = false,
      nb::sig(
          "def clip_grad_norm_(parameters: Tensor | collections.abc.Iterable[Tensor], max_norm: "
          "float, norm_type: float | str = 2.0, error_if_nonfinite: bool = False) -> Tensor"),
      "Scales the gradients alike, so that the norm of all together is at most max_norm; gives the "
      "norm from before.\n\n"
      ">>> w = Tensor([3.0, 4.0], requires_grad=True)\n>>> (w * w / 2).sum().backward()\n"
      ">>> nn.utils.clip_grad_norm_([w], 1.0)\ntensor(5.)\n>>> w.grad\ntensor([0.6000, 0.8000])");
  module.def(
      "clip_grad_value_",
      [](nb::handle parameters, f64 value) {
        nn::clip_grad_value(parameters_of(parameters), value);
      },
      nb::arg("parameters"), nb::arg("clip_value"),
      nb::sig("def clip_grad_value_(parameters: Tensor | collections.abc.Iterable[Tensor], "
              "clip_value: float) -> None"),
      "Each element of each gradient becomes at least -clip_value and at most clip_value.\n\n"
      ">>> w = Tensor([3.0, -0.5], requires_grad=True)\n>>> (w * w / 2).sum().backward()\n"
      ">>> nn.utils.clip_grad_value_([w], 1.0)\n>>> w.grad\ntensor([ 1.0000, -0.5000])");
}

}  // namespace doorbell::python
