#pragma once

#include <adjoint/core/choice.h>
#include <adjoint/nn/conv/structure.h>
#include <adjoint/nn/conv/typed_vars.h>
#include <adjoint/nn/module.h>

#include <array>
#include <deque>
#include <functional>
#include <memory>

namespace adj::nn {

/// How the results of several relations for one type of node become one.
enum class Combination : uint8_t {
  sum,
  mean,
  max,  ///< per feature; ties go to the first relation
  cat   ///< side by side, in the order of add()
};
constexpr auto names_of(Combination) { return std::array{"sum", "mean", "max", "cat"}; }

/// A layer per type of edges of a HeteroGraph (PyG's HeteroConv):
///
///   nn::Child<nn::HeteroConv> conv{this, "conv", nn::TypedWidths{{"author", 64}, {"paper", 128}}};
///   conv.add<nn::SAGEConv>({"author", "writes", "paper"}, 32);
///   conv.add<nn::GATConv>({"paper", "cites", "paper"}, 8, nn::GATConvOptions{.heads = 4});
///   nn::TypedVars y = conv(graph, x);
///
/// Any layer that is called as layer(relation, x) will do. Types may have any names: parameters are named
/// "author~writes~paper.lin_l.weight", with %XX for other bytes than letters, digits, '-' and '_'.
class HeteroConv : public Module {
 public:
  /// `widths`: of the features of each type of node; no pass over data is needed to find them.
  explicit HeteroConv(TypedWidths widths, Combination combination = Combination::sum);

  /// Adds a Conv for this type of edges, constructed from the widths of its ends (one number if they are one
  /// type, or the layer takes one), if its constructor takes them, and `args`. Throws Error for a type of
  /// node without width, a second layer of the type, and two widths for a layer that takes one.
  template <class Conv, class... Args>
  Conv& add(const EdgeType& type, Args&&... args) {
    const int64_t src = detail::width_of("HeteroConv", widths_, type.src),
                  dst = detail::width_of("HeteroConv", widths_, type.dst);
    std::unique_ptr<Model<Conv>> made;
    if constexpr (std::is_constructible_v<Model<Conv>, Widths, Args...>) {
      made = std::make_unique<Model<Conv>>(type.src == type.dst ? Widths(src) : Widths(src, dst),
                                           std::forward<Args>(args)...);
    } else if constexpr (std::is_constructible_v<Model<Conv>, int64_t, Args...>) {
      ADJ_CHECK(src == dst, "HeteroConv: the layer of {} takes one width, got {} and {}", type.str(), src,
                dst);
      made = std::make_unique<Model<Conv>>(src, std::forward<Args>(args)...);
    } else {
      made = std::make_unique<Model<Conv>>(std::forward<Args>(args)...);
    }
    Conv& conv = *made;
    Call call = [&conv](const Relation& relation, const Sides& x, const Var& edge) -> Var {
      if constexpr (std::is_invocable_v<const Conv&, const Relation&, const Sides&, const Var&>)
        if (edge) return conv(relation, x, edge);
      ADJ_CHECK(!edge, "HeteroConv: {} takes no values of edges", conv.describe());
      return conv(relation, x);
    };
    insert(type, std::move(made), std::move(call));
    return conv;
  }

  /// The same for each type of edges, as PyG's to_hetero does of a layer: `conv.add_to_all<nn::SAGEConv>(
  /// graph.edge_types(), 64)`.
  template <class Conv, class... Args>
  void add_to_all(const std::vector<EdgeType>& types, const Args&... args) {
    for (const EdgeType& type : types) add<Conv>(type, args...);
  }

  /// x by type of node -> the combined results of the layers by type of target. A type of node that the graph
  /// has no node of may be absent. `edges`: weights or features by type of edges, for layers that take them.
  /// Throws Error, naming the type, if the graph lacks a layer's relation, or features do not match.
  TypedVars operator()(const HeteroGraph& graph, const TypedVars& x,
                       const std::map<EdgeType, Var>& edges = {}) const;
  std::string describe() const override;

 private:
  using Call = std::function<Var(const Relation& relation, const Sides& x, const Var& edge)>;
  struct Layer {
    EdgeType type;         ///< of its edges
    Owned<Module> module;  ///< the layer
    Call call;             ///< calls it
  };
  void insert(const EdgeType& type, std::unique_ptr<Module> module, Call call);

  TypedWidths widths_;
  Combination combination_;
  std::deque<Layer> layers_;
};

namespace detail {
/// One of several results [N, F] of one shape, or their columns side by side.
Var combined(const std::vector<Var>& results, Combination combination);
}  // namespace detail

}  // namespace adj::nn
