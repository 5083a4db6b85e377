// The table of operations on whole tensors. Arguments that a case leaves out have PyTorch's
// defaults. For operations of one and two elements see operations_elementwise.cc.
#include "conformance/operations.h"

#include "base/util/check.h"

namespace doorbell::conformance {
namespace {

using Results = std::vector<Tensor>;

PoolOptions pool_options(const Call& c) {
  PoolOptions options;
  options.stride = c.per_axis("stride", {});
  options.padding = c.per_axis("padding", 0);
  options.ceil_mode = c.flag("ceil_mode");
  options.count_include_pad = c.arguments.value("count_include_pad", true);
  options.dilation = c.per_axis("dilation", 1);
  if (c.has("divisor")) options.divisor_override = c.integer("divisor");
  return options;
}

Results conv(const Call& c) {
  Conv2dOptions options;
  options.stride = c.per_axis("stride", 1);
  options.padding = c.per_axis("padding", 0);
  options.dilation = c.per_axis("dilation", 1);
  options.groups = c.arguments.value("groups", 1);
  return {c.x().conv2d(c.in[1], c.in[2], options)};
}

Results conv_transpose(const Call& c) {
  ConvTranspose2dOptions options;
  options.stride = c.per_axis("stride", 1);
  options.padding = c.per_axis("padding", 0);
  options.output_padding = c.per_axis("output_padding", 0);
  options.dilation = c.per_axis("dilation", 1);
  options.groups = c.arguments.value("groups", 1);
  return {c.x().conv_transpose2d(c.in[1], options) + c.in[2].reshape({-1, 1, 1})};
}

Results attention(const Call& c) {
  AttentionOptions options;
  options.is_causal = c.flag("causal");
  options.enable_gqa = c.flag("grouped");
  if (c.has("scale")) options.scale = c.arguments.at("scale").get<f64>();
  if (c.in.size() > 3)
    return {c.x().scaled_dot_product_attention(c.in[1], c.in[2], c.in[3], options)};
  return {c.x().scaled_dot_product_attention(c.in[1], c.in[2], options)};
}

LossOptions loss_options(const Call& c) {
  LossOptions options;
  const std::string reduction = c.arguments.value("reduction", "mean");
  if (reduction == "sum") options.reduction = Reduction::Sum;
  if (reduction == "none") options.reduction = Reduction::None;
  options.label_smoothing = c.arguments.value("label_smoothing", 0.0);
  return options;
}

Results interpolate(const Call& c) {
  InterpolateOptions options;
  const std::string mode = c.word("mode");
  options.mode = Resample::Linear;
  if (mode == "nearest") options.mode = Resample::Nearest;
  if (mode == "nearest-exact") options.mode = Resample::NearestExact;
  if (mode == "bicubic") options.mode = Resample::Bicubic;
  if (mode == "area") options.mode = Resample::Area;
  options.align_corners = c.flag("align");
  options.recompute_scale_factor = c.flag("recompute");
  if (c.has("factors"))
    return {c.x().interpolate_by(c.arguments.at("factors").get<std::vector<f64>>(), options)};
  return {c.x().interpolate(c.integers("sizes"), options)};
}

Results pad(const Call& c) {
  const std::string mode = c.word("mode");
  PadOptions options;
  options.value = 0;
  if (mode == "reflect") options.mode = PadMode::Reflect;
  if (mode == "replicate") options.mode = PadMode::Replicate;
  if (mode == "circular") options.mode = PadMode::Circular;
  return {c.x().pad(c.arguments.at("amounts").get<std::vector<std::pair<i64, i64>>>(), options)};
}

Results scatter_reduce(const Call& c) {
  const std::string combine = c.word("combine");
  const Combine how = combine == "sum"       ? Combine::Sum
                      : combine == "product" ? Combine::Product
                      : combine == "mean"    ? Combine::Mean
                      : combine == "max"     ? Combine::Max
                                             : Combine::Min;
  return {c.x().scatter_reduce(c.integer("axis"), c.in[1], c.in[2], how, c.flag("include_self"))};
}

Results einsum(const Call& c) {
  const std::string formula = c.word("formula");
  if (c.in.size() == 1) return {Tensor::einsum(formula, {c.in[0]})};
  return {Tensor::einsum(formula, {c.in[0], c.in[1]})};
}

// Several movement ops one after another, which must fold into one index expression.
Results chain(const Call& c) {
  const Tensor windows = c.x().t().flip(0).reshape({3, 8})[{Slice(1, None), Slice(None, None, 3)}];
  return {windows.pad({{0, 2}, {1, 0}}).unsqueeze(1).expand({4, 2, 4})};
}

Results set(const Call& c) {
  Tensor x = c.x().clone();
  x[{Ellipsis, 1}] = c.in[1][{Ellipsis, 0}];
  x[{Ellipsis, 4}] = c.in[1][{Ellipsis, 1}];
  return {x};
}

Results slice(const Call& c) {
  const Slice part(c.integer("start"), c.integer("stop"), c.integer("step"));
  return {c.x()[{Ellipsis, part}]};
}

Results sorted(const Picked& sorted) { return {sorted.values, sorted.indices}; }
Results sort(const Call& c) { return sorted(c.x().sort(c.integer("axis"), c.flag("descending"))); }
Results topk(const Call& c) {
  return sorted(c.x().topk(c.integer("count"), c.integer("axis"), c.flag("largest")));
}

Results unique(const Call& c) {
  const Unique found = c.x().unique();
  return {found.values, found.inverse, found.counts};
}
Results unique_parts(const Call& c) {
  const Unique found = c.x().unique(c.integer("axis"));
  return {found.values, found.inverse, found.counts};
}

Results pair(const std::pair<Tensor, Tensor>& both) { return {both.first, both.second}; }

Results max_pool_places(const Call& c) {
  const Pooled pooled = c.x().max_pool2d_with_indices(c.integers("kernel"), pool_options(c));
  return {pooled.values, pooled.indices};
}
Results max_unpool(const Call& c) {
  const Pooled pooled = c.x().max_pool2d_with_indices(c.integers("kernel"), pool_options(c));
  return {pooled.values.max_unpool2d(pooled.indices, c.integers("kernel"))};
}

Results svd_product(const Call& c) {
  const SVD svd = c.x().svd(false);
  return {(svd.U * svd.S.unsqueeze(-2)).matmul(svd.Vh)};
}
Results qr_product(const Call& c) {
  const QR qr = c.x().qr();
  return {qr.Q.matmul(qr.R)};
}
Results qr_orthonormal(const Call& c) {
  const Tensor q = c.x().qr().Q;
  return {q.t().matmul(q)};
}

Results diagonal_of(const Call& c) {
  const std::vector<i64> axes = c.integers("axes");
  return {c.x().diagonal(c.integer("offset"), axes[0], axes[1])};
}

using Entry = OperationEntry;

#define GIVES(expression) [](const Call& c) -> Results { return {expression}; }

// clang-format off
constexpr Entry kStatistics[] = {
    {"softmax", GIVES(c.x().softmax(c.integer("axis")))},
    {"log_softmax", GIVES(c.x().log_softmax(c.integer("axis")))},
    {"logsumexp", GIVES(c.x().logsumexp(c.integers("axes"), c.reduce()))},
    {"cumsum", GIVES(c.x().cumsum(c.integer("axis")))},
    {"cumprod", GIVES(c.x().cumprod(c.integer("axis")))},
    {"cummax", GIVES(c.x().cummax(c.integer("axis")).values)},
    {"norm", GIVES(c.x().norm(std::stod(c.word("p")), c.integers("axes"), c.reduce()))},
    {"median", GIVES(c.x().median(c.integer("axis")).values)},
    {"median_all", GIVES(c.x().median())},
    {"median_places", [](const Call& c) { return sorted(c.x().median(c.integer("axis"))); }},
    {"diff", GIVES(c.x().diff(c.integer("times"), c.integer("axis")))},
    {"sum", GIVES(c.x().sum(c.integers("axes"), c.reduce()))},
    {"mean", GIVES(c.x().mean(c.integers("axes"), c.reduce()))},
    {"prod", GIVES(c.x().prod(c.integers("axes"), c.reduce()))},
    {"max", GIVES(c.x().max(c.integers("axes"), c.reduce()))},
    {"min", GIVES(c.x().min(c.integers("axes"), c.reduce()))},
    {"var", GIVES(c.x().var(c.integers("axes"), {.correction = c.real("correction")}))},
    {"std", GIVES(c.x().std(c.integers("axes"), {.correction = c.real("correction")}))},
    {"normalize", GIVES(c.x().normalize(c.arguments.at("p").get<f64>(), c.integer("axis")))},
    {"softmin", GIVES(c.x().softmin(c.integer("axis")))},
    {"logcumsumexp", GIVES(c.x().logcumsumexp(c.integer("axis")))},
    {"cummin", [](const Call& c) { return sorted(c.x().cummin(c.integer("axis"))); }},
    {"var_mean", [](const Call& c) { return pair(c.x().var_mean(c.integers("axes"))); }},
    {"std_mean", [](const Call& c) { return pair(c.x().std_mean(c.integers("axes"))); }},
    {"share", GIVES(c.x() / c.x().sum())},
    {"layernorm", GIVES(c.x().layernorm(c.integers("axes")))},
    {"batchnorm", GIVES(c.x().batchnorm(c.in[1], c.in[2], c.in[3], c.in[4]))},
    {"batchnorm_over", GIVES(c.x().batchnorm(c.in[1], c.in[2], c.in[3], c.in[4],
                                             c.integers("axes")))},
};
constexpr Entry kProducts[] = {
    {"matmul", GIVES(c.x().matmul(c.in[1]))},
    {"matmul_transposed", GIVES(c.x().t().matmul(c.in[1].t()))},
    {"linear", GIVES(c.x().linear(c.in[1], c.in[2]))},
    {"einsum", einsum},
    {"conv", conv},
    {"conv1d", GIVES(c.x().conv1d(c.in[1], c.in[2]))},
    {"outer", GIVES(c.x().outer(c.in[1]))},
    {"mse_loss", GIVES(c.x().mse_loss(c.in[1], loss_options(c).reduction))},
    {"l1_loss", GIVES(c.x().l1_loss(c.in[1], loss_options(c).reduction))},
    {"huber_loss", GIVES(c.x().huber_loss(c.in[1], c.real_or("delta", 1),
                                          loss_options(c).reduction))},
    {"smooth_l1_loss", GIVES(c.x().smooth_l1_loss(c.in[1], c.real_or("delta", 1),
                                                  loss_options(c).reduction))},
    {"kl_div", GIVES(c.x().kl_div(c.in[1], loss_options(c).reduction, c.flag("logarithms")))},
    {"conv_transpose", conv_transpose},
    {"conv_same", GIVES(c.x().conv2d(c.in[1], {.same = true}))},
    {"svd_values", GIVES(c.x().svd(false).S)},
    {"svd_product", svd_product},
    {"qr_product", qr_product},
    {"qr_triangle", GIVES(c.x().qr().R.abs())},
    {"qr_orthonormal", qr_orthonormal},
    {"qr_q", GIVES(c.x().qr().Q)},
    {"qr_r", GIVES(c.x().qr().R)},
    {"max_pool_places", max_pool_places},
    {"max_unpool", max_unpool},
    {"max_pool", GIVES(c.x().max_pool2d(c.integers("kernel"), pool_options(c)))},
    {"avg_pool", GIVES(c.x().avg_pool2d(c.integers("kernel"), pool_options(c)))},
    {"interpolate", interpolate},
    {"attention", attention},
    {"cross_entropy", GIVES(c.x().cross_entropy(c.in[1], loss_options(c)))},
    {"sparse_cross_entropy",
     GIVES(c.x().sparse_categorical_crossentropy(c.in[1]))},
    {"newton_schulz", GIVES(c.x().newton_schulz(2, {2.0, -1.5, 0.5}))},
    {"nll_loss", GIVES(c.x().nll_loss(c.in[1], loss_options(c)))},
    {"bce_logits", GIVES(c.x().binary_crossentropy_logits(c.in[1], loss_options(c)))},
    {"cross_entropy_weighted", GIVES(c.x().cross_entropy(c.in[1], c.in[2], loss_options(c)))},
    {"nll_loss_weighted", GIVES(c.x().nll_loss(c.in[1], c.in[2], loss_options(c)))},
    {"bce_weighted", GIVES(c.x().binary_crossentropy(c.in[1], c.in[2], loss_options(c)))},
    {"bce_logits_weighted",
     GIVES(c.x().binary_crossentropy_logits(c.in[1], c.in[2], c.in[3], loss_options(c)))},
    {"bce", GIVES(c.x().binary_crossentropy(c.in[1], loss_options(c)))},
};
constexpr Entry kMovements[] = {
    {"reshape", GIVES(c.x().reshape(Shape(c.integers("shape"))))},
    {"permute", GIVES(c.x().permute(c.integers("axes")))},
    {"expand", GIVES(c.x().expand(Shape(c.integers("shape"))))},
    {"flip", GIVES(c.x().flip(c.integers("axes")))},
    {"roll", GIVES(c.x().roll(c.integer("shift"), c.integer("axis")))},
    {"repeat", GIVES(c.x().repeat(c.integers("counts")))},
    {"repeat_interleave", GIVES(c.x().repeat_interleave(c.integer("count"), c.integer("axis")))},
    {"unfold", GIVES(c.x().unfold(c.integer("axis"), c.integer("size"), c.integer("step")))},
    {"diagonal", GIVES(c.x().diagonal(0, -2, -1))},
    {"unflatten", GIVES(c.x().unflatten(c.integer("axis"), Shape(c.integers("shape"))))},
    {"diagonal_of", diagonal_of},
    {"diag", GIVES(c.x().diag(c.integer("diagonal")))},
    {"split", [](const Call& c) { return c.x().split(c.integer("size"), c.integer("axis")); }},
    {"chunk", [](const Call& c) { return c.x().chunk(c.integer("count"), c.integer("axis")); }},
    {"rearrange", GIVES(c.x().rearrange(c.word("formula"), {{"a", c.integer("a")}}))},
    {"repeat_each", GIVES(c.x().repeat_interleave(c.integers("counts"), c.integer("axis")))},
    {"movedim", GIVES(c.x().movedim(c.integers("axes"), c.integers("places")))},
    {"squeeze", GIVES(c.x().squeeze())},
    {"unsqueeze", GIVES(c.x().unsqueeze(c.integer("axis")))},
    {"transpose", GIVES(c.x().transpose(c.integers("axes")[0], c.integers("axes")[1]))},
    {"shrink_to", GIVES(c.x().shrink_to(Shape(c.integers("shape"))))},
    {"pad_to", GIVES(c.x().pad_to(Shape(c.integers("shape"))))},
    {"flatten", GIVES(c.x().flatten(c.integer("first")))},
    {"cat", GIVES(Tensor::cat(c.in, c.integer("axis")))},
    {"stack", GIVES(Tensor::stack(c.in, c.integer("axis")))},
    {"chain", chain},
    {"tril", GIVES(c.x().tril(c.integer("diagonal")))},
    {"triu", GIVES(c.x().triu(c.integer("diagonal")))},
    {"pad", pad},
    {"slice", slice},
};
constexpr Entry kIndexing[] = {
    {"gather", GIVES(c.x().gather(c.integer("axis"), c.in[1]))},
    {"rows", GIVES(c.x()[c.in[1]])},
    {"pairs", GIVES((c.x()[{c.in[1], c.in[2]}]))},
    {"scatter", GIVES(c.x().scatter(c.integer("axis"), c.in[1], c.in[2]))},
    {"scatter_add", GIVES(c.x().scatter_add(c.integer("axis"), c.in[1], c.in[2]))},
    {"scatter_reduce", scatter_reduce},
    {"masked_select", GIVES(c.x().masked_select(c.in[1], c.integer("size")))},
    {"set", set},
    {"nonzero", GIVES(c.x().nonzero(c.integer("size")))},
    {"isin", GIVES(c.x().isin(c.in[1]))},
    {"one_hot", GIVES(c.x().one_hot(c.integer("classes")))},
    {"sort", sort},
    {"sort_values", GIVES(c.x().sort(c.integer("axis"), c.flag("descending")).values)},
    {"argsort", GIVES(c.x().argsort(c.integer("axis")))},
    {"topk", topk},
    {"searchsorted", GIVES(c.x().searchsorted(c.in[1], c.flag("right")))},
    {"unique", unique},
    {"unique_parts", unique_parts},
};
// clang-format on

#undef GIVES

}  // namespace

namespace {

Results apply_named(std::string_view name, const Call& call) {
  const std::span<const Entry> tables[] = {kStatistics, kProducts, kMovements, kIndexing,
                                           elementwise_operations()};
  for (std::span<const Entry> table : tables)
    for (const Entry& entry : table)
      if (entry.name == name) return entry.apply(call);
  UNREACHABLE("no operation {}", name);
}

// Zeros around the last axis, as many as the argument says.
Tensor padded(const Tensor& x, const nlohmann::json& amounts) {
  std::vector<std::pair<i64, i64>> around(static_cast<usize>(x.ndim()), {0, 0});
  around.back() = {amounts.at(0).get<i64>(), amounts.at(1).get<i64>()};
  return x.pad(around);
}

}  // namespace

std::vector<Tensor> apply_operation(std::string_view name, const nlohmann::json& arguments,
                                    const std::vector<Tensor>& inputs) {
  std::vector<Tensor> operands = inputs;
  if (arguments.contains("pad_in")) operands[0] = padded(operands[0], arguments.at("pad_in"));
  if (arguments.contains("repeat"))
    operands.assign(arguments.at("repeat").get<usize>(), Tensor(operands[0]));
  Results results = apply_named(name, {arguments, operands});
  if (arguments.contains("pad_out"))
    for (Tensor& result : results) result = padded(result, arguments.at("pad_out"));
  return results;
}

}  // namespace doorbell::conformance
