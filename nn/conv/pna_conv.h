#pragma once

#include <adjoint/autograd/edge.h>
#include <adjoint/nn/conv/structure.h>
#include <adjoint/nn/linear.h>

#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace adj::nn {

/// Factor of a node's aggregates, d its in-degree, means over the training graph's nodes: 1; log(d + 1) /
/// mean of log(d + 1); its inverse; d / mean of d; its inverse. Inverses take d as at least 1.
enum class Scaler : uint8_t { identity, amplification, attenuation, linear, inverse_linear };

/// PyG's name.
constexpr std::string_view name_of(Scaler scaler) {
  constexpr std::string_view kNames[] = {"identity", "amplification", "attenuation", "linear",
                                         "inverse_linear"};
  return kNames[static_cast<size_t>(scaler)];
}

/// Options of PNAConv. In each of the `towers` all `aggregators`, distinct ones, are multiplied with all
/// `scalers`. `pre_layers` of U, which is 1, and `post_layers` of V are numbers of linear maps.
struct PNAConvOptions {
  std::vector<Reduce> aggregators{Reduce::mean, Reduce::min, Reduce::max, Reduce::std};
  std::vector<Scaler> scalers{Scaler::identity, Scaler::amplification, Scaler::attenuation};
  int64_t towers = 1;
  int pre_layers = 1;
  int post_layers = 1;
  bool divide_input = false;  ///< each tower takes its share of the input features, else all of them
  Activation activation = Activation::relu;  ///< between post layers
  bool train_norm = false;                   ///< the mean degrees are parameters
};

/// Principal Neighbourhood Aggregation (Corso et al. 2020). For each tower, with x its node features and ‖
/// concatenation:
///   h_ij = U [x_i ‖ x_j] + u,   a_i = the concatenated aggregates of h_ij over the edges j -> i,
///   z_i = V [x_i ‖ s_1(d_i) a_i ‖ s_2(d_i) a_i ‖ …] + v,
/// V being several layers if post_layers > 1, and y = W [towers' z] + w. x [N,in] -> [N,out]. Weights and
/// biases are uniform in ±1 / sqrt(fan-in); names as in PyG's PNAConv.
///
/// h_ij is never materialised: U splits into a part for x_i and a part for x_j. The latter is aggregated for
/// all towers at once; the former shifts a mean, minimum, maximum or sum, and leaves a variance or standard
/// deviation unchanged. So pre_layers must be 1 and edge features are not supported (throws). The product
/// with V also comes before the scalers.
class PNAConv : public Module {
 public:
  /// `degrees`: number of nodes of the training graph with 0, 1, 2, … in-edges (degree_histogram).
  PNAConv(int64_t in, int64_t out, const std::vector<int64_t>& degrees, const PNAConvOptions& options = {});
  /// x of all nodes, or {x_src [num_src,in], x_dst [num_dst,in]} -> [num_dst,out].
  Var operator()(const Structure& structure, const Sides& x) const;
  std::string describe() const override;

  /// Element k is the number of nodes with k in-edges.
  static std::vector<int64_t> degree_histogram(const Graph& graph);

 private:
  /// Linear maps named as in torch's Sequential, "0", "2", …, with activations between.
  class Sequential : public Module {
   public:
    Sequential(int64_t in, int64_t out, int count);
    const Linear& operator[](size_t i) const { return layers_[i]; }  ///< map i, named "2 i"
    size_t size() const { return layers_.size(); }                   ///< number of maps
    std::string describe() const override { return "Sequential"; }   ///< for str()

   private:
    std::deque<Child<Linear>> layers_;
  };

  /// The mean degrees, parameters or buffers.
  class DegreeScaler : public Module {
   public:
    DegreeScaler(const std::vector<int64_t>& degrees, bool trained);
    Var mean(DType dtype) const { return scalar(trained_lin, avg_deg_lin, dtype); }         ///< [1]: of d
    Var mean_of_log(DType dtype) const { return scalar(trained_log, avg_deg_log, dtype); }  ///< of log(d + 1)
    std::string describe() const override { return "DegreeScaler"; }                        ///< for str()

   private:
    static Var scalar(const Var& trained, const Tensor& fixed, DType dtype) {
      return trained ? trained : Var(fixed.to(dtype));
    }
    Var trained_lin, trained_log;
    Tensor avg_deg_lin, avg_deg_log;
  };

  struct Degrees;
  Var scale(Scaler scaler, const Degrees& degrees) const;

  int64_t in_, tower_in_ = 0;
  PNAConvOptions options_;

 public:
  Child<DegreeScaler> aggr_module;           ///< "avg_deg_lin", "avg_deg_log": [1]
  ModuleList<Sequential> pre_nns, post_nns;  ///< U with u, and V with v, by tower
  Child<Linear> lin;                         ///< W with w, [out, out]
};

}  // namespace adj::nn
