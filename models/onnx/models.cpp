#include <adjoint/models/detail/onnx_models.h>

#include <algorithm>

// The forward passes of the models in models/*.cpp, in evaluation.

namespace adj::detail {

namespace {

using Options = models::ModelOptions;
using Convolution = std::function<OnnxValue(const OnnxModule&, const OnnxValue& x, bool last)>;

/// Throws for a value that the functions here do not know.
template <class T>
void expect_exported(const char* option, T value, std::initializer_list<T> known) {
  ADJ_CHECK(std::ranges::find(known, value) != known.end(), "--{} {} is not exported to ONNX", option,
            name_of(value));
}

/// models::Stack; `convolve` applies one of "convs".
OnnxValue onnx_stack(const OnnxModule& model, OnnxValue x, const Options& o, Activation activation,
                     const Convolution& convolve) {
  const auto last = static_cast<size_t>(o.layers - 1);
  for (size_t l = 0; l < last; ++l) {
    OnnxValue y = convolve(model["convs"][l], x, false);
    const OnnxModule norm = model["norms"][l];
    if (o.norm == models::Norm::batch) y = batch_norm(norm, y);
    if (o.norm == models::Norm::layer) y = layer_norm(norm, y);
    expect_exported("norm", o.norm, {models::Norm::none, models::Norm::batch, models::Norm::layer});
    y = activated(activation, y);
    x = o.residual && l > 0 ? x + y : y;
  }
  return convolve(model["convs"][last], x, true);
}

OnnxValue onnx_gcn(const OnnxModule& model, const OnnxInputs& in, const Options& o) {
  const OnnxEdges edges = with_completed_loops(in.edges);
  return onnx_stack(model, in.x, o, Activation::relu, [&](const OnnxModule& conv, const OnnxValue& x, bool) {
    return gcn_conv(conv, edges, x);
  });
}

OnnxValue onnx_sage(const OnnxModule& model, const OnnxInputs& in, const Options& o) {
  using enum models::SageAggregation;
  expect_exported("aggr", o.aggr, {mean, max, pool});
  const Reduce reduce = o.aggr == mean ? Reduce::mean : Reduce::max;
  return onnx_stack(model, in.x, o, Activation::relu, [&](const OnnxModule& conv, const OnnxValue& x, bool) {
    return sage_conv(conv, in.edges, x, reduce);
  });
}

OnnxValue onnx_gat(const OnnxModule& model, const OnnxInputs& in, const Options& o) {
  const OnnxEdges edges = with_renewed_loops(in.edges);
  const auto layer = o.model == "gatv2" ? gatv2_conv : gat_conv;
  return onnx_stack(
      model, in.x, o, Activation::elu,
      [&](const OnnxModule& conv, const OnnxValue& x, bool last) { return layer(conv, edges, x, !last); });
}

OnnxValue onnx_gin(const OnnxModule& model, const OnnxInputs& in, const Options& o) {
  const auto sum = o.model == "gine" ? gine_sum : gin_sum;
  return onnx_stack(model, in.x, o, Activation::relu, [&](const OnnxModule& conv, const OnnxValue& x, bool) {
    return mlp(conv["nn"], sum(conv, in.edges, x));
  });
}

OnnxValue onnx_transformer(const OnnxModule& model, const OnnxInputs& in, const Options& o) {
  return onnx_stack(model, in.x, o, Activation::relu,
                    [&](const OnnxModule& conv, const OnnxValue& x, bool last) {
                      return transformer_conv(conv, in.edges, x, o.heads, !last);
                    });
}

OnnxValue onnx_agnn(const OnnxModule& model, const OnnxInputs& in, const Options& o) {
  const OnnxEdges edges = with_renewed_loops(in.edges);
  OnnxValue x = activated(Activation::relu, linear(model["lin1"], in.x));
  for (size_t l = 0; l < static_cast<size_t>(o.layers); ++l) x = agnn_conv(model["props"][l], edges, x);
  return linear(model["lin2"], x);
}

OnnxValue onnx_gps_layers(const OnnxModule& body, const OnnxInputs& in, const Options& o) {
  OnnxValue x = linear(body["input"], in.x);
  for (size_t l = 0; l < static_cast<size_t>(o.layers); ++l) {
    const OnnxModule layer = body["layers"][l], conv = layer["conv"];
    const OnnxValue local = mlp(conv["nn"], gin_sum(conv, in.edges, x));
    const OnnxValue global = multihead_attention(layer["attn"], x, o.heads, in.batch);
    const OnnxValue h = batch_norm(layer["norm1"], local + x) + batch_norm(layer["norm2"], global + x);
    const OnnxValue network = linear(layer["second"], activated(Activation::relu, linear(layer["first"], h)));
    x = batch_norm(layer["norm3"], h + network);
  }
  return x;
}

OnnxValue onnx_gps(const OnnxModule& model, const OnnxInputs& in, const Options& o) {
  return linear(model["output"], onnx_gps_layers(model["body"], in, o));
}

/// int64 [1]: graphs of a batch.
OnnxValue onnx_graphs(const OnnxValue& batch) {
  OnnxGraph& graph = *batch.graph;
  const OnnxValue numbers = concat({batch, graph.integers({-1})});
  return graph.node("ReduceMax", {numbers}) + graph.integers({1});
}

OnnxValue onnx_graph_gps(const OnnxModule& model, const OnnxInputs& in, const Options& o) {
  const OnnxValue x = onnx_gps_layers(model["body"], in, o);
  return mlp(model["output"], graph_pooling(model["pool"], o.graphs, in, x, onnx_graphs(in.batch)));
}

OnnxValue onnx_graph_gin(const OnnxModule& model, const OnnxInputs& in, const Options& o) {
  const OnnxValue graphs = onnx_graphs(in.batch);
  const auto sum = o.model == "graph-gine" ? gine_sum : gin_sum;
  const auto read_out = [&](size_t l, const OnnxValue& x) {
    return linear(model["readouts"][l], graph_pooling(model["pools"][l], o.graphs, in, x, graphs));
  };
  OnnxValue x = in.x, logits = read_out(0, x);
  for (size_t l = 0; l < static_cast<size_t>(o.layers); ++l) {
    const OnnxModule conv = model["convs"][l], network = conv["nn"];
    const OnnxValue hidden = batch_norm(network["norm"], linear(network["first"], sum(conv, in.edges, x)));
    const OnnxValue y = linear(network["second"], activated(Activation::relu, hidden));
    x = activated(Activation::relu, batch_norm(model["norms"][l], y));
    logits = logits + read_out(l + 1, x);
  }
  return logits;
}

/// Embeddings of nodes, for a decoder.
OnnxValue onnx_encoder(const OnnxModule& model, const OnnxInputs& in, const Options& o) {
  const auto encode = o.model == "sage" ? onnx_sage : o.model == "gat" ? onnx_gat : onnx_gcn;
  return encode(model["encoder"], in, o);
}

OnnxOutputs onnx_link(const OnnxModule& model, const OnnxInputs& in, const Options& o) {
  OnnxGraph& graph = model.graph;
  const OnnxValue z = onnx_encoder(model, in, o);
  const auto end = [&](int64_t k) {
    return gather(z, graph.node("Squeeze", {gather(in.pairs, graph.integers({k})), graph.integers({0})}));
  };
  const OnnxValue product = end(0) * end(1);
  expect_exported("decoder", o.links.decoder, {models::Decoder::dot, models::Decoder::mlp});
  if (o.links.decoder == models::Decoder::dot) return {sum_last(product), z};
  return {graph.node("Squeeze", {mlp(model["decoder"], product), graph.integers({1})}), z};
}

OnnxValue onnx_edge(const OnnxModule& model, const OnnxInputs& in, const Options& o) {
  const OnnxValue z = onnx_encoder(model, in, o);
  OnnxValue y = gather(linear(model["source"], z), in.edges.source) +
                gather(linear(model["target"], z), in.edges.target);
  if (in.edges.attr) y = y + linear(model["attributes"], in.edges.attr);
  return linear(model["output"], activated(Activation::relu, y));
}

/// A family of models with one output.
OnnxFamily of_logits(const char* program, std::vector<std::string> models, std::vector<std::string> options,
                     OnnxValue (*write)(const OnnxModule&, const OnnxInputs&, const Options&)) {
  return {program, std::move(models), std::move(options),
          [write](const OnnxModule& model, const OnnxInputs& in, const Options& o) -> OnnxOutputs {
            return {write(model, in, o), {}};
          }};
}

const std::vector<OnnxFamily>& onnx_families() {
  static const std::vector<OnnxFamily> all{
      of_logits("train_gcn", {"gcn"}, {"norm"}, onnx_gcn),
      of_logits("train_sage", {"sage"}, {"norm", "residual", "aggr"}, onnx_sage),
      of_logits("train_gat", {"gat", "gatv2"}, {"norm", "residual", "heads", "output-heads"}, onnx_gat),
      of_logits("train_gin", {"gin", "gine"}, {"norm", "residual", "train-eps"}, onnx_gin),
      of_logits("train_transformer", {"transformer"}, {"norm", "residual", "heads", "gate"},
                onnx_transformer),
      of_logits("train_agnn", {"agnn"}, {}, onnx_agnn),
      of_logits("train_gps", {"gps"}, {"heads"}, onnx_gps),
      of_logits("train_graph_gps", {"graph-gps"}, {"heads", "pool", "pool-ratio"}, onnx_graph_gps),
      of_logits("train_graph_gin", {"graph-gin", "graph-gine"}, {"train-eps", "pool", "pool-ratio"},
                onnx_graph_gin),
      of_logits("train_edge", {"gcn", "sage", "gat"}, {"embedding", "aggr", "heads"}, onnx_edge),
      {"train_link", {"gcn", "sage", "gat"}, {"embedding", "decoder", "aggr", "heads"}, onnx_link},
  };
  return all;
}

}  // namespace

const OnnxFamily* onnx_family(const std::string& program) {
  const auto& all = onnx_families();
  const auto found = std::ranges::find(all, program, &OnnxFamily::program);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace adj::detail
