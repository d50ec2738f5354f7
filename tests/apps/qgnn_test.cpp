#include "../reference/plain.h"
#include "json.h"
#include "small_dataset.h"
#include "variants.h"
#include <adjoint/ops.h>

using namespace adj;
using namespace adj::test;

namespace {

using State = std::map<std::string, Tensor>;

models::ModelOptions options_of(const std::string& model, const std::string& norm) {
  models::ModelOptions o;
  o.model = model;
  o.norm = value_named<models::Norm>(norm).value();
  o.hidden = 5;
  o.layers = 3;
  o.quantized.bits = "4,3,2";
  o.quantized.bits_weights = "2,8,3";
  return o;
}
constexpr int kWeightBits[] = {2, 8, 3}, kActivationBits[] = {4, 3, 2};
constexpr int64_t kNodes = 9, kIn = 6, kOut = 3;

/// With parallel edges and self-loops; with one self-loop per node, each has 1, 2 or 4 in-edges, so that
/// means are exact.
std::vector<std::pair<int32_t, int32_t>> edges() {
  return {{0, 1}, {2, 2}, {3, 2}, {3, 2}, {1, 2}, {4, 3}, {5, 4}, {6, 4},
          {7, 4}, {4, 5}, {6, 6}, {5, 6}, {8, 7}, {0, 7}, {2, 7}, {7, 8}};
}
Graph graph_of(const std::vector<std::pair<int32_t, int32_t>>& list) {
  std::vector<int32_t> src, dst;
  for (const auto& [s, d] : list) src.push_back(s), dst.push_back(d);
  return Graph::from_coo(kNodes, Tensor::from(src), Tensor::from(dst),
                         random_tensor({static_cast<int64_t>(src.size())}));  // weights, which do not count
}

/// Multiples of 1/8, so that all sums are exact.
Tensor eighths(Shape shape) {
  return (Var(random_ints(shape.numel(), -16, 17).to(DType::f32).reshape(shape)) * 0.125).value();
}

/// The model with scales that are powers of two and parameters that are multiples of 1/8.
State exact_state(const models::Model& model) {
  State state;
  for (const auto& [name, tensor] : model.state()) {
    state[name] = tensor.clone();
    const auto is = [&](const char* ending) { return name.ends_with(ending); };
    if (is(".scale"))
      state[name] =
          Tensor::full(tensor.shape(), name.starts_with("sums") || name.starts_with("hidden") ? 0.5 : 0.25);
    else if (is(".zero") && !is("weights.zero"))
      state[name] =
          Tensor::full(tensor.shape(), name == "inputs.0.zero" || name == "sums.0.input.zero" ? 3.0 : 0.0);
    else if (is("weights.zero"))
      state[name] =
          Tensor::full(tensor.shape(), ((1 << kWeightBits[name[name.find('.') + 1] - '0']) - 1) / 2.0);
    else if (name.find("norms") != std::string::npos && is(".bias"))
      state[name] = (Var(eighths(tensor.shape())) + 1.0 / 256).value();  // away from ties: roots round
    else if (is("running_var"))
      state[name] = Tensor::full(tensor.shape(), 1.0 - 1e-5);
    else
      state[name] = eighths(tensor.shape());
  }
  return state;
}

/// An evaluation as docs/quantized.md defines it, by loops over the state.
struct Definition {
  const State& state;
  bool gin, norm;

  Dense quantised(const Dense& x, const std::string& name, int bits) const {
    const auto scale = values(state.at(name + ".scale")), zero = values(state.at(name + ".zero"));
    Dense y(x.rows, x.cols);
    for (int64_t i = 0; i < x.rows; ++i)
      for (int64_t j = 0; j < x.cols; ++j) {
        const size_t channel = scale.size() == 1 ? 0 : static_cast<size_t>(j);
        const double q = std::nearbyint(x(i, j) / scale[channel] + zero[channel]);
        y(i, j) = scale[channel] * (std::clamp(q, 0.0, (1 << bits) - 1.0) - zero[channel]);
      }
    return y;
  }
  Dense product(const Dense& x, const std::string& name, size_t l) const {
    return plus_row(quantised(x, name + ".input", kActivationBits[l]) *
                        quantised(Dense(state.at(name + ".weight")), name + ".weights", kWeightBits[l]),
                    state.at(name + ".bias"));
  }
  Dense normed(Dense x, const std::string& name) const {
    if (!norm || !state.contains(name + ".weight")) return x;
    for (int64_t j = 0; j < x.cols; ++j)
      for (int64_t i = 0; i < x.rows; ++i) {
        const auto parameter = [&](const char* entry) {
          return values(state.at(name + entry))[static_cast<size_t>(j)];
        };
        x(i, j) = parameter(".weight") * (x(i, j) - parameter(".running_mean")) /
                      std::sqrt(parameter(".running_var") + 1e-5) +
                  parameter(".bias");
      }
    return x;
  }
  Dense normed_relu(Dense x, const std::string& name) const {
    x = normed(std::move(x), name);
    for (double& value : x.data) value = std::max(value, 0.0);
    return x;
  }
  Dense operator()(Dense x) const {
    for (size_t l = 0; l < 3; ++l) {
      const std::string layer = "." + std::to_string(l);
      const Dense input = quantised(x, "inputs" + layer, kActivationBits[l]);
      Dense s(x.rows, x.cols), count(x.rows, 1);
      const auto add = [&](int64_t source, int64_t target) {
        for (int64_t j = 0; j < x.cols; ++j) s(target, j) += input(source, j);
        count(target, 0) += 1.0;
      };
      for (const auto& [source, target] : edges())
        if (gin || source != target) add(source, target);
      for (int64_t i = 0; i < x.rows; ++i) {
        add(i, i);
        for (int64_t j = 0; j < x.cols && !gin; ++j) s(i, j) /= count(i, 0);
      }
      x = product(normed(s, "sum_norms" + layer), "sums" + layer, l);
      if (gin) x = product(normed_relu(x, "hidden_norms" + layer), "hidden" + layer, l);
      if (l < 2) x = normed_relu(x, "norms" + layer);
    }
    return x;
  }
};

}  // namespace

TEST_CASE("an evaluation of a quantised model equals plain loops over its state") {
  for (const std::string model : {"gcn", "gin"})
    for (const std::string norm : {"none", "batch", "sums"}) {
      CAPTURE(model);
      CAPTURE(norm);
      const auto network = models::qgnn().make_as<models::NodeModel>(kIn, kOut, options_of(model, norm));
      const State state = exact_state(*network);
      network->load_state(state);
      network->eval();
      const Tensor x = eighths({kNodes, kIn});
      const Dense expected = Definition{state, model == "gin", norm != "none"}(Dense(x));
      for (Device device : devices()) {
        network->to(device);
        const Tensor y = (*network)(graph_of(edges()).to(device), Features(x.to(device))).value();
        CHECK(close(y, expected.data, norm != "none" ? 1e-5 : 0.0));
      }
    }
}

TEST_CASE("a quantised model gives the same bits for sparse features as for dense ones") {
  const Dataset data = small_dataset();
  const auto outputs = [&](const Features& x) {
    manual_seed(1);
    const auto model = models::qgnn().make_as<models::NodeModel>(40, 3, options_of("gcn", "none"));
    (*model)(data.graph, x);
    model->eval();
    return (*model)(data.graph, x).value();
  };
  REQUIRE(data.x.is_sparse());
  CHECK(same_bits(outputs(data.x), outputs(Features(data.x.to_dense()))));
}

TEST_CASE("nodes of large in-degree are protected more often, in training only") {
  models::ModelOptions o = options_of("gcn", "none");
  o.dropout = 0.0;
  o.quantized.bits = "1";
  o.quantized.bits_weights = "32";
  o.layers = 1;
  o.quantized.degree_quant = 0.9;
  const auto model = models::qgnn().make_as<models::NodeModel>(2, 2, o);
  // A star: all point to node 0.
  std::vector<int32_t> src, dst;
  for (int32_t i = 1; i < 200; ++i) src.push_back(i), dst.push_back(0);
  const Graph star = Graph::from_coo(200, Tensor::from(src), Tensor::from(dst));
  const Tensor x = random_tensor({200, 2});
  (*model)(star, Features(x));
  model->eval();
  const auto quantised = values((*model)(star, Features(x)).value());
  CHECK(values((*model)(star, Features(x)).value()) == quantised);
  model->train();
  int hub = 0, others = 0;
  for (int step = 0; step < 200; ++step) {
    const auto y = values((*model)(star, Features(x)).value());
    hub += y[0] != quantised[0] ? 1 : 0;
    others += y[2 * 7] != quantised[2 * 7] ? 1 : 0;
  }
  // The hub's probability is 0.9, but its mean changes with its neighbours', too; theirs is 0.9 199 / 200.
  CHECK(hub > 150);
  CHECK(others > 150);
  o.quantized.degree_quant = 0.0;
  const auto never = models::qgnn().make_as<models::NodeModel>(2, 2, o);
  const auto state = model->state();
  never->load_state({state.begin(), state.end()});
  CHECK(values((*never)(star, Features(x)).value()) == quantised);
}

TEST_CASE_FIXTURE(InFolder, "train_qgnn starts from the weights of a float32 training only") {
  const std::string data = folder.file("data.h5"), full = folder.file("float.h5"),
                    low = folder.file("low.h5");
  write_small_dataset(data);
  const auto train = program("train_qgnn", {"--data", data, "--quiet", "--json"});
  succeeds(train({"--bits", "32", "--epochs", "60", "--checkpoint", full}));
  // A step too small to change anything: the initial values are the final ones.
  const Outcome begun =
      succeeds(train({"--bits", "8", "--epochs", "1", "--lr", "1e-12", "--from", full, "--checkpoint", low}));
  const auto before = models::load_checkpoint(full).with_prefix("best."),
             after = models::load_checkpoint(low).with_prefix("best.");
  CHECK(after.size() > before.size());
  for (const auto& [name, tensor] : before) {
    CAPTURE(name);
    CHECK(close(after.at(name), tensor, 1e-9));
  }
  CHECK(std::stod(json_of(begun).at("test_acc")) > 0.5);
  check_refused(
      train,
      {{{"--bits", "4", "--from", low}, {"--from", "low.h5", "quantised", "--bits 32"}},
       {{"--bits", "4", "--from", full, "--hidden", "8"}, {"--from", "--hidden 64", "8"}},
       {{"--bits", "4", "--from", full, "--model", "gin"}, {"--from", "--model gcn", "gin"}},
       {{"--bits", "4", "--from", full, "--norm", "batch"}, {"--from", "--norm none", "batch"}},
       {{"--bits", "4", "--from", full, "--features-scaling", "none"},
        {"--from", "--features-scaling rows", "none"}},
       {{"--bits", "4", "--from", full, "--features-bits", "4"}, {"--from", "--features-bits 32", "4"}}});
  CHECK(fails_with(train({"--bits", "4", "--from", folder.file("missing.h5")}), 1, {"missing.h5"}));
  CHECK(fails_with(train({"--bits", "4", "--from", full, "--checkpoint", full}), 2,
                   {"--checkpoint", "--from"}));
  const std::string other = folder.file("gcn.h5");
  succeeds("train_gcn", {"--data", data, "--quiet", "--epochs", "2", "--checkpoint", other});
  CHECK(fails_with(train({"--bits", "4", "--from", other}), 1, {"gcn.h5", "train_gcn", "train_qgnn"}));
  CHECK(fails_with(train({"--bits", "8,4,2"}), 2, {"--bits 8,4,2", "3 numbers", "2 layers"}));
  CHECK(fails_with(train({"--bits", "4", "--loader", "neighbor"}), 2, {"--loader", "neighbor"}));
}
