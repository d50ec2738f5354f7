#pragma once

#include <adjoint/autograd/arithmetic.h>
#include <adjoint/graph/self_loops.h>
#include <adjoint/models/model.h>
#include <adjoint/models/options.h>
#include <adjoint/nn/conv/structure.h>
#include <adjoint/nn/norm/norm.h>

#include <optional>

// Most models: convolutions of one kind with norm, activation and dropout in between.

namespace adj::models {

/// The norms between layers, children "norms.0", … of `model`: options.norm is batch, layer or none.
class Norms {
 public:
  Norms(nn::Module* model, const ModelOptions& options);
  void add(int64_t width);  ///< for [*, width]; nothing for Norm::none
  /// dropout(act(norm(x))) with norm `l`; one pass with batch norm. `p` 0: no dropout.
  Var operator()(size_t l, const Var& x, Activation activation, float p, bool training) const;
  bool over_rows() const { return batch_.has_value(); }  ///< whether a row depends on the others

 private:
  nn::BatchNormOptions of_batches_;
  std::optional<nn::ModuleList<nn::BatchNorm>> batch_;
  std::optional<nn::ModuleList<nn::LayerNorm>> layer_;
};

/// Layers of a stack whose third argument is the edges' attributes, and those that cannot do without.
template <class Conv>
concept TakesEdgeAttributes = requires(const Conv& conv, const nn::Structure& structure, const nn::Sides& x,
                                       const Var& attr) {
  conv(structure, x, attr);
};
template <class Conv>
concept NeedsEdgeAttributes = TakesEdgeAttributes<Conv> &&
    !requires(const Conv& conv, const nn::Structure& structure, const nn::Sides& x) {
  conv(structure, x);
};

/// The edge attribute "attr" [M,E] of a graph or block in a dtype. Throws, naming the model, if it has none.
Var edge_attributes_of(const std::string& model, const nn::Structure& structure, DType dtype);
/// ", 3 edge attributes" for describe(); empty for 0.
std::string describe_edges(int64_t edge_dim);
/// ModelOptions::edge_dim as layers take it.
std::optional<int64_t> edge_dim_of(const ModelOptions& options);

/// Dropout on the input, then convolution, norm, activation, dropout, …, ending with a convolution.
/// --residual adds the input of a hidden convolution to the output of its dropout. describe() begins with
/// `name`.
template <class Conv>
class Stack : public NodeModel {
 public:
  Stack(const std::string& name, Activation activation, const ModelOptions& s)
      : name_(name + (s.norm == Norm::none ? "" : fmt::format(" {}-norm", name_of(s.norm))) +
              (s.residual ? " residual" : "") +
              (TakesEdgeAttributes<Conv> ? describe_edges(s.edge_dim) : "")),
        edge_dim_(s.edge_dim),
        activation_(activation),
        p_(static_cast<float>(s.dropout)),
        residual_(s.residual),
        norms_(this, s) {}

  Var operator()(const Graph& graph, const Features& features) const override {
    return through(convs_.size(), graph, features);
  }
  Var embeddings(const Graph& graph, const Features& features) const override {
    if (convs_.size() < 2) return NodeModel::embeddings(graph, features);
    return through(convs_.size() - 1, graph, features);
  }
  size_t num_layers() const override { return convs_.size(); }
  Var over(size_t l, const Block& block, const Var& features) const override {
    return layer(l, block, l == 0 ? this->dropout(features, p_) : features);
  }
  EdgeSupport edge_support() const override {
    return {.attributes = TakesEdgeAttributes<Conv>, .needs_attributes = NeedsEdgeAttributes<Conv>};
  }
  bool takes_padded_blocks() const override { return padded_ && !norms_.over_rows(); }
  std::string describe() const override { return name_; }
  std::vector<int64_t> summed_widths() const override { return summed_; }

 protected:
  /// Blocks may be padded, unless batch norm is over their rows.
  void accept_padding() { padded_ = true; }
  /// Sets the widths of the convolutions' sums over neighbours.
  void sum_neighbors(std::vector<int64_t> widths) { summed_ = std::move(widths); }
  /// Adds a convolution from `args` with `width` output features, followed by a norm.
  template <class... Args>
  void add_hidden(int64_t width, Args&&... args) {
    convs_.add(std::forward<Args>(args)...);
    norms_.add(width);
  }
  template <class... Args>
  void add_last(Args&&... args) {
    convs_.add(std::forward<Args>(args)...);
  }

 private:
  /// The output of the first `layers` layers.
  Var through(size_t layers, const Graph& graph, const Features& features) const {
    Var x = behind(0, convolve(0, graph, this->constant(this->dropout(features, p_))), {});
    for (size_t l = 1; l < layers; ++l) x = layer(l, graph, x);
    return x;
  }
  Var layer(size_t l, const nn::Structure& structure, const Var& features) const {
    const nn::Sides x = nn::Sides(features).match("stack", structure);
    return behind(l, convolve(l, structure, x), x.dst);
  }
  Var convolve(size_t l, const nn::Structure& structure, const nn::Sides& x) const {
    if constexpr (TakesEdgeAttributes<Conv>)
      if (NeedsEdgeAttributes<Conv> || edge_dim_ > 0)
        return convs_[l](structure, x,
                         edge_attributes_of(name_, structure, this->parameters().front().dtype()));
    if constexpr (!NeedsEdgeAttributes<Conv>) return convs_[l](structure, x);
  }
  /// Applies what follows convolution `l`; `input`: its targets' input.
  Var behind(size_t l, const Var& y, const Var& input) const {
    if (l + 1 == convs_.size()) return y;
    const Var z = norms_(l, y, activation_, p_, this->training());
    return residual_ && l > 0 ? input + z : z;
  }

  std::string name_;
  std::vector<int64_t> summed_;
  int64_t edge_dim_;
  Activation activation_;
  float p_;
  bool residual_, padded_ = false;
  nn::ModuleList<Conv> convs_{this, "convs"};
  Norms norms_;
};

/// Precomputes the graph of a batch with self-loops, and its transpose (NodeModel::prepare).
inline void prepare_loops(const Graph& graph, SelfLoops kind) {
  const Relation looped = with_self_loops(graph.relation(), kind).relation;
  (void)looped.transposed();
  (void)looped.transposed_order();
}

/// The options of such models.
std::vector<ModelOption> stack_options(const std::vector<std::string>& names = {});

/// [1433, 16, 16, 7]: the widths of a model of `layers` layers.
std::vector<int64_t> widths_of(int64_t in, int64_t out, const ModelOptions& options);
/// [16, 16, 7]: per layer the narrower width, on which a linear layer sums.
std::vector<int64_t> narrower(const std::vector<int64_t>& widths);
/// "1433-16-16-7".
std::string dashed(const std::vector<int64_t>& widths);
/// "1433-8x8-7": hidden layers with `heads` heads each.
std::string dashed_heads(int64_t in, int64_t out, const ModelOptions& options);

}  // namespace adj::models
