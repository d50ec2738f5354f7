#include <adjoint/autograd/activation.h>
#include <adjoint/autograd/arithmetic.h>
#include <adjoint/autograd/neighbor_reduce.h>
#include <adjoint/autograd/shape.h>
#include <adjoint/autograd/unary.h>
#include <adjoint/kernels/aggregate/neighbor_reduce.h>
#include <adjoint/nn/conv/pna_conv.h>

#include <cmath>

namespace adj::nn {

/// Functions of the in-degrees, columns [N,1] in the features' dtype.
struct PNAConv::Degrees {
  Var number, any, log, at_least_one, log_at_least_one;

  Degrees(const Relation& relation, DType dtype) {
    const Var d(relation.in_degrees().to(accumulator_dtype(dtype)).reshape({relation.num_dst(), 1}));
    const Var beyond_one = relu(d - 1.0);
    const auto rounded = [&](const Var& column) { return Var(column.value().to(dtype)); };
    number = rounded(d);
    any = rounded(d - beyond_one);
    log = rounded(adj::log(d + 1.0));
    at_least_one = rounded(beyond_one + 1.0);
    log_at_least_one = rounded(adj::log(beyond_one + 2.0));
  }
};

PNAConv::Sequential::Sequential(int64_t in, int64_t out, int count) {
  for (int k = 0; k < count; ++k)
    layers_.emplace_back(this, std::to_string(2 * k), k == 0 ? in : out, out,
                         LinearOptions{.initial = Initial::fan_in});
}

PNAConv::DegreeScaler::DegreeScaler(const std::vector<int64_t>& degrees, bool trained) {
  double nodes = 0.0, sum = 0.0, sum_of_log = 0.0;
  for (size_t d = 0; d < degrees.size(); ++d) {
    ADJ_CHECK(degrees[d] >= 0, "PNAConv: degrees[{}] is {}, expected a number of nodes", d, degrees[d]);
    const auto count = static_cast<double>(degrees[d]);
    nodes += count;
    sum += static_cast<double>(d) * count;
    sum_of_log += std::log(static_cast<double>(d) + 1.0) * count;
  }
  ADJ_CHECK(sum > 0.0, "PNAConv: none of {} nodes has an in-edge, expected the histogram of the degrees",
            nodes);
  const auto add = [&](const char* name, Var& parameter, Tensor& buffer, double value) {
    const Tensor mean = Tensor::full({1}, value);
    trained ? add_parameter(name, parameter, mean) : add_buffer(name, buffer, mean);
  };
  add("avg_deg_lin", trained_lin, avg_deg_lin, sum / nodes);
  add("avg_deg_log", trained_log, avg_deg_log, sum_of_log / nodes);
}

PNAConv::PNAConv(int64_t in, int64_t out, const std::vector<int64_t>& degrees, const PNAConvOptions& options)
    : in_(in),
      options_(options),
      aggr_module(this, "aggr_module", degrees, options.train_norm),
      pre_nns(this, "pre_nns"),
      post_nns(this, "post_nns"),
      lin(this, "lin", out, out, LinearOptions{.initial = Initial::fan_in}) {
  const int64_t towers = options.towers;
  ADJ_CHECK(in > 0 && towers >= 1, "PNAConv: {} -> {} in {} towers, expected positive numbers", in, out,
            towers);
  ADJ_CHECK(out % towers == 0 && (!options.divide_input || in % towers == 0),
            "PNAConv: {} -> {} features do not divide into {} towers", in, out, towers);
  ADJ_CHECK(options.pre_layers == 1,
            "PNAConv: {} layers before the aggregation would have to run on every edge, expected 1",
            options.pre_layers);
  ADJ_CHECK(options.post_layers >= 1, "PNAConv: {} layers after the aggregation, expected at least 1",
            options.post_layers);
  ADJ_CHECK(!options.scalers.empty(), "PNAConv: no scalers");
  (void)kernels::ReductionSet("PNAConv", options.aggregators);
  tower_in_ = options.divide_input ? in / towers : in;
  const auto aggregates = static_cast<int64_t>(options.aggregators.size() * options.scalers.size());
  for (int64_t t = 0; t < towers; ++t) {
    pre_nns.add(2 * tower_in_, tower_in_, 1);
    post_nns.add((aggregates + 1) * tower_in_, out / towers, options.post_layers);
  }
}

// [N,1]; absent: 1.
Var PNAConv::scale(Scaler scaler, const Degrees& degrees) const {
  const DType dtype = degrees.number.dtype();
  switch (scaler) {
    case Scaler::identity:
      return {};
    case Scaler::amplification:
      return degrees.log / aggr_module.mean_of_log(dtype);
    case Scaler::attenuation:
      return aggr_module.mean_of_log(dtype) / degrees.log_at_least_one;
    case Scaler::linear:
      return degrees.number / aggr_module.mean(dtype);
    case Scaler::inverse_linear:
      return aggr_module.mean(dtype) / degrees.at_least_one;
  }
  return {};
}

Var PNAConv::operator()(const Structure& structure, const Sides& features) const {
  const Sides x = features.dense(*this).match("PNAConv", structure, true);
  for (const Var& side : {x.src, x.dst})
    ADJ_CHECK(side.size(1) == in_, "PNAConv: features {}, expected {} columns", side.shape().str(), in_);
  const int64_t towers = options_.towers, width = tower_in_;
  const auto kinds = static_cast<int64_t>(options_.aggregators.size());
  const Degrees degrees(structure.relation(), x.src.dtype());
  std::vector<Var> inputs, of_sources;
  for (int64_t t = 0; t < towers; ++t) {
    const auto share = [&](const Var& all) {
      return options_.divide_input && towers > 1 ? narrow(all, 1, t * width, width) : all;
    };
    const Var sources = share(x.src);
    inputs.push_back(x.same() ? sources : share(x.dst));
    const Var u = narrow(pre_nns[static_cast<size_t>(t)][0].weight, 0, width, width);
    of_sources.push_back(linear(sources, u));
  }
  const Var aggregated = aggregate_all(structure.relation(), towers > 1 ? cat(of_sources, 1) : of_sources[0],
                                       options_.aggregators);
  of_sources.clear();

  std::vector<Var> scales;
  for (Scaler scaler : options_.scalers) scales.push_back(scale(scaler, degrees));
  std::vector<Var> outputs;
  for (int64_t t = 0; t < towers; ++t) {
    const auto tower = static_cast<size_t>(t);
    const Linear& pre = pre_nns[tower][0];
    const Var of_target = linear(inputs[tower], narrow(pre.weight, 0, 0, width), pre.bias);
    const Var shift = of_target * degrees.any;
    std::vector<Var> parts;
    for (int64_t k = 0; k < kinds; ++k) {
      const Reduce reduce = options_.aggregators[static_cast<size_t>(k)];
      const Var part = narrow(aggregated, 1, (k * towers + t) * width, width);
      const bool spread = reduce == Reduce::var || reduce == Reduce::std;
      parts.push_back(spread                  ? part
                      : reduce == Reduce::sum ? part + of_target * degrees.number
                                              : part + shift);
    }
    const Var of_neighbors = kinds > 1 ? cat(parts, 1) : parts[0];
    parts.clear();

    const Sequential& post = post_nns[tower];
    Var y = linear(inputs[tower], narrow(post[0].weight, 0, 0, width), post[0].bias);
    for (size_t s = 0; s < scales.size(); ++s) {
      const int64_t row = width * (1 + static_cast<int64_t>(s) * kinds);
      const Var scaled = linear(of_neighbors, narrow(post[0].weight, 0, row, width * kinds));
      y = y + (scales[s] ? scaled * scales[s] : scaled);
    }
    for (size_t layer = 1; layer < post.size(); ++layer) y = post[layer](activate(options_.activation, y));
    outputs.push_back(y);
  }
  return lin(towers > 1 ? cat(outputs, 1) : outputs[0]);
}

std::string PNAConv::describe() const {
  return fmt::format("PNAConv({} -> {}, {} aggregators, {} scalers, {} towers)", in_, lin.weight.size(1),
                     options_.aggregators.size(), options_.scalers.size(), options_.towers);
}

std::vector<int64_t> PNAConv::degree_histogram(const Graph& graph) {
  std::vector<int64_t> histogram;
  for (float degree : graph.in_degrees().to_vector<float>()) {
    const auto d = static_cast<size_t>(degree);
    if (d >= histogram.size()) histogram.resize(d + 1);
    ++histogram[d];
  }
  return histogram;
}

}  // namespace adj::nn
