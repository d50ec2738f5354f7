#include "../nn/module_state.h"
#include "../reference/plain.h"
#include <adjoint/data/hdf5_file.h>
#include <adjoint/data/safetensors.h>
#include <adjoint/models/pyg_state.h>
#include <adjoint/nn/conv/gat_conv.h>
#include <adjoint/nn/conv/gcn_conv.h>
#include <adjoint/nn/linear.h>
#include <adjoint/nn/norm/norm.h>

using namespace adj;
using namespace adj::test;

namespace {

struct Network : nn::Module {
  nn::Child<nn::GCNConv> conv1{this, "conv1", 3, 5};
  nn::Child<nn::BatchNorm> norm{this, "norm", 5};
  nn::Child<nn::GATConv> conv2{this, "conv2", 5, 2, nn::GATConvOptions{.heads = 2}};
  nn::Child<nn::MLP> head{this, "head", {4, 6, 2}};
};

/// The state dict of a PyG model of the same layers, whose head is a torch.nn.Sequential.
std::map<std::string, Tensor> state_dict() {
  Draw draw(350, {}, DType::f32);
  std::map<std::string, Tensor> state;
  for (const auto& [name, shape] : {std::pair<std::string, Shape>{"conv1.lin.weight", {5, 3}},
                                    {"conv1.bias", {5}},
                                    {"norm.module.weight", {5}},
                                    {"norm.module.bias", {5}},
                                    {"norm.module.running_mean", {5}},
                                    {"norm.module.running_var", {5}},
                                    {"conv2.lin.weight", {4, 5}},
                                    {"conv2.att_src", {1, 2, 2}},
                                    {"conv2.att_dst", {1, 2, 2}},
                                    {"conv2.bias", {4}},
                                    {"head.0.weight", {6, 4}},
                                    {"head.0.bias", {6}},
                                    {"head.3.weight", {2, 6}},
                                    {"head.3.bias", {2}}})
    state[name] = draw.uniform(shape, 0.5, 1.5);
  state["norm.module.num_batches_tracked"] = Tensor::from(std::vector<int64_t>{7});
  return state;
}

const std::map<std::string, std::string> kNames{{"head.lins.0", "head.0"}, {"head.lins.1", "head.3"}};

void write(const std::string& path, const std::map<std::string, Tensor>& state) {
  if (path.ends_with(".safetensors")) return save_safetensors(path, {state.begin(), state.end()});
  H5Writer writer(path);
  for (const auto& [name, tensor] : state) writer.write(name, tensor);
  writer.commit();
}

std::vector<double> turned(const Tensor& x) { return transposed(Dense(x)).data; }

}  // namespace

TEST_CASE("a PyG model's state is read by name, with weights transposed") {
  for (Device device : devices())
    for (const auto& [dtype, file] : {std::pair(DType::f32, "state.h5"),
                                      {DType::f64, "state.h5"},
                                      {DType::bf16, "state.h5"},
                                      {DType::f32, "state.safetensors"}}) {
      CAPTURES(name_of(dtype), file);
      const TemporaryDirectory folder;
      const std::string path = folder.file(file);
      const auto state = state_dict();
      write(path, state);
      nn::Model<Network> model;
      model.to(device);
      model.to(dtype);
      nn::load_pyg_state(model, path, kNames);
      const double tolerance = dtype == DType::bf16 ? 0x1p-7 : 0.0;
      const auto tensor = [&](const char* name) { return state.at(name); };
      CHECK(model.conv1.weight.dtype() == dtype);
      CHECK(close(model.conv1.weight.value(), turned(tensor("conv1.lin.weight")), tolerance));
      CHECK(close(model.conv1.bias.value(), values(tensor("conv1.bias")), tolerance));
      CHECK(close(model.norm.weight.value(), values(tensor("norm.module.weight")), tolerance));
      CHECK(close(model.norm.running_var, values(tensor("norm.module.running_var")), tolerance));
      CHECK(close(model.conv2.lin->weight.value(), turned(tensor("conv2.lin.weight")), tolerance));
      CHECK(model.conv2.att_src.shape() == Shape{2, 2});
      CHECK(close(model.conv2.att_src.value(), values(tensor("conv2.att_src")), tolerance));
      const auto parameters = model.named_parameters();
      CHECK(parameters.back().first == "head.lins.1.bias");
      CHECK(close(parameters.back().second.value(), values(tensor("head.3.bias")), tolerance));
    }
}

TEST_CASE("a mismatched PyG state is refused, naming file and tensor, and changes nothing") {
  std::string file;
  SUBCASE("HDF5") { file = "state.h5"; }
  SUBCASE("safetensors") { file = "state.safetensors"; }
  const TemporaryDirectory folder;
  const std::string path = folder.file(file);
  nn::Model<Network> model;
  const auto refused = [&](const std::string& name, const Tensor& tensor, const std::string& part = "") {
    auto state = state_dict();
    state[name] = tensor;
    if (!tensor) state.erase(name);
    write(path, state);
    const auto before = copied(model);
    const std::string message = error_of([&] { nn::load_pyg_state(model, path, kNames); });
    CHECK(mentions(message, {path, name, part}));
    CHECK(equal(copied(model), before));
  };
  refused("conv2.bias", {}, "missing");
  refused("conv3.bias", Tensor::zeros({4}), "left over");
  refused("conv1.lin.weight", Tensor::zeros({3, 5}), "[5, 3]");
  refused("conv2.att_src", Tensor::zeros({2, 1, 2}), "[2, 1, 2]");
  refused("conv1.bias", Tensor::zeros({5}, DType::i32));
  // Without the names of its parts, the head is not found.
  write(path, state_dict());
  CHECK_ERROR_HAS(nn::load_pyg_state(model, path), "head.lins.0.weight");
  CHECK(mentions(error_of([&] { nn::load_pyg_state(model, folder.file("none." + file)); }), "none." + file));
}

TEST_CASE_FIXTURE(InFolder, "16-bit weights in a safetensors file are converted to the model's dtype") {
  const std::string path = folder.file("state.safetensors");
  auto state = state_dict();
  for (auto& [name, tensor] : state)
    if (is_floating(tensor.dtype())) tensor = tensor.to(DType::bf16);
  write(path, state);
  nn::Model<Network> model;
  nn::load_pyg_state(model, path, kNames);
  CHECK(same_bits(model.conv1.bias.value(), state.at("conv1.bias").to(DType::f32)));
}

TEST_CASE_FIXTURE(InFolder, "shared weights are read under both names") {
  const std::string path = folder.file("state.h5");
  nn::Model<nn::GATv2Conv> layer(3, 2, nn::GATv2ConvOptions{.share_weights = true});
  Draw draw(351, {}, DType::f32);
  const Tensor map = draw.normal({2, 3}), bias = draw.normal({2});
  write(path, {{"lin_l.weight", map},
               {"lin_l.bias", bias},
               {"lin_r.weight", map},
               {"lin_r.bias", bias},
               {"att", draw.normal({1, 1, 2})},
               {"bias", bias}});
  nn::load_pyg_state(layer, path);
  CHECK(close(layer.lin_l.weight.value(), turned(map), 0.0));
  CHECK(layer.parameters().size() == 4);
}

TEST_CASE_FIXTURE(InFolder,
                  "a state's names have no prefix (a bare layer), a wrapped norm's, or a given one") {
  const std::string path = folder.file("state.h5");
  Draw draw(352, {}, DType::f32);
  const Tensor map = draw.normal({5, 3}), bias = draw.normal({5});
  nn::Model<nn::GCNConv> conv(3, 5);
  write(path, {{"lin.weight", map}, {"bias", bias}});
  nn::load_pyg_state(conv, path);
  CHECK(close(conv.weight.value(), turned(map), 0.0));
  CHECK(close(conv.bias.value(), values(bias), 0.0));

  const Tensor scale = draw.normal({5}), mean = draw.normal({5}), spread = draw.uniform({5}, 0.5, 1.5);
  for (const std::string before : {"module.", "", "bn.module."}) {
    CAPTURE(before);
    nn::Model<nn::BatchNorm> norm(5);
    write(path, {{before + "weight", scale},
                 {before + "bias", bias},
                 {before + "running_mean", mean},
                 {before + "running_var", spread},
                 {before + "num_batches_tracked", Tensor::from(std::vector<int64_t>{7})}});
    nn::load_pyg_state(norm, path,
                       before == "bn.module." ? std::map<std::string, std::string>{{"", "bn"}}
                                              : std::map<std::string, std::string>{});
    CHECK(close(norm.weight.value(), values(scale), 0.0));
    CHECK(close(norm.running_mean, values(mean), 0.0));
  }
  nn::Model<nn::BatchNorm> norm(5);
  write(path, {{"module.weight", scale}});
  nn::load_pyg_state(norm, path,
                     {{"", "module"},
                      {"bias", "module.weight"},
                      {"running_mean", "module.weight"},
                      {"running_var", "module.weight"}});
  CHECK(close(norm.running_var, values(scale), 0.0));
  write(path, {{"lin.weight", map}});
  CHECK_ERROR_HAS(nn::load_pyg_state(conv, path), "bias: missing, expected [5]");
}
