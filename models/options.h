#pragma once

#include <adjoint/core/choice.h>
#include <adjoint/core/option_check.h>
#include <adjoint/nn/graph_pool.h>
#include <adjoint/nn/quantizer.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace adj {
struct GraphSchema;
}

namespace adj::models {

/// Batch norm, layer norm or none between the layers; `sums`: batch norm also on the sums over neighbours.
enum class Norm : uint8_t { none, batch, layer, sums };
constexpr auto names_of(Norm) { return std::array{"none", "batch", "layer", "sums"}; }  ///< in options

/// GraphSAGE's aggregation of neighbours; `pool`: maximum of projected features.
enum class SageAggregation : uint8_t { mean, max, pool };
constexpr auto names_of(SageAggregation) { return std::array{"mean", "max", "pool"}; }  ///< in options

/// Score of a pair of nodes: inner product of the embeddings, or an MLP on their elementwise product.
enum class Decoder : uint8_t { dot, mlp };
constexpr auto names_of(Decoder) { return std::array{"dot", "mlp"}; }  ///< in options

/// Node features: those of the file, or models/node_features.h.
enum class NodeFeatures : uint8_t { file, constant, degree, one_hot_degree, random_walk, learned };
constexpr auto names_of(NodeFeatures) {
  return std::array{"file", "constant", "degree", "one-hot-degree", "random-walk", "learned"};
}

/// Positional encoding of nodes beside their features (models/positional_encoding.h).
enum class Positional : uint8_t { none, laplacian, random_walk, degree };
constexpr auto names_of(Positional) { return std::array{"none", "laplacian", "random-walk", "degree"}; }

/// Input of a model of several types of nodes: linear maps of their features, and an embedding of each node
/// of types without; or, if no type has features, a one-hot vector, so that the first layer has a weight row
/// of each node in each relation (Schlichtkrull et al. 2018). automatic: the latter while that is at most
/// 2^26 numbers.
enum class TypedInputs : uint8_t { automatic, one_hot, embedding };
constexpr auto names_of(TypedInputs) { return std::array{"auto", "one-hot", "embedding"}; }  ///< in options

/// tf32: matrix products on a GPU with rounded operands. bfloat16: storage of features and parameters.
enum class Precision : uint8_t { float32, tf32, bfloat16 };
constexpr auto names_of(Precision) { return std::array{"float32", "tf32", "bfloat16"}; }  ///< in options

/// Options of quantised models. `bits`, and unless "auto" in its place `bits_weights` and `bits_activations`,
/// are one number for all layers or one per layer, as "8,4,2": 1 to 8, or 32 (not quantised).
struct QuantizedModelOptions {
  std::string bits = "32";
  std::string bits_weights = "auto", bits_activations = "auto";
  nn::Scales scales = nn::Scales::learned;  ///< where those of all quantizers come from
  /// Probability that the nodes of largest in-degree stay unquantised in a training step, and the probability
  /// for the lowest; in between it rises with the rank of the in-degree (Degree-Quant, Tailor et al. 2021).
  /// 0: off.
  double degree_quant = 0.0, degree_quant_least = 0.0;
};

/// Options of models of links.
struct LinkModelOptions {
  int64_t embedding = 0;           ///< width of the node embeddings; 0: hidden
  Decoder decoder = Decoder::dot;  ///< what scores two embeddings
};

/// Options of models of heterogeneous graphs.
struct TypedModelOptions {
  int64_t bases = 0;                               ///< of the relations' weights; 0: each has its own
  TypedInputs inputs = TypedInputs::automatic;     ///< of the first layer
  std::shared_ptr<const GraphSchema> schema = {};  ///< of the graph, with counts; no option. Null: one type
};

/// Options of models of graphs.
struct GraphModelOptions {
  nn::GraphPool pool = nn::GraphPool::sum;  ///< pooling over a graph's nodes
  double pool_ratio = 0.5;                  ///< nodes that topk and sag keep
};

/// Hyperparameters of a model. Each family reads hidden, layers, dropout, node features and those in its
/// ModelFamily::options; others have no effect.
struct ModelOptions {
  std::string model = {};  ///< within the family: "gat", "gatv2"; empty: the first
  int64_t hidden = 16;     ///< width of the hidden layers, per head if there are several
  int64_t layers = 2;
  double dropout = 0.5;
  NodeFeatures node_features = NodeFeatures::file;  ///< others replace the dataset's
  int64_t walk_steps = 16;                          ///< columns of NodeFeatures::random_walk
  Positional positional = Positional::none;         ///< beside the features
  int64_t positional_size = 8;                      ///< its columns; degree has one

  Norm norm = Norm::none;                        ///< each family offers some
  bool residual = false;                         ///< hidden layers but the first add their input
  int64_t heads = 1, output_heads = 1;           ///< of attention; of GAT's last layer (averaged)
  double attention_dropout = 0.0;                ///< probability, of attention coefficients
  SageAggregation aggr = SageAggregation::mean;  ///< GraphSAGE
  bool train_eps = false;                        ///< GIN
  bool gate = false;                             ///< graph transformer
  int64_t edge_dim = 0;                          ///< used columns of the edge attribute "attr"; 0: none
  /// Models of nodes and links: weight of the newest batch in the running statistics of batch norms; 1 if
  /// each batch is the whole graph, so there is nothing to average. Evaluation reads the statistics only.
  double norm_momentum = 0.1;

  QuantizedModelOptions quantized = {};  ///< quantised models
  LinkModelOptions links = {};           ///< models of links; of edges without the decoder
  GraphModelOptions graphs = {};         ///< models of graphs
  TypedModelOptions types = {};          ///< models of heterogeneous graphs
};

/// An option: its name on command lines and in checkpoints, its field and its help text.
struct ModelOption {
  template <class T>
  using Field = T& (*)(ModelOptions&);  ///< gives the option's member

  std::string name;  ///< "attention-dropout"
  std::variant<Field<int64_t>, Field<double>, Field<bool>, Field<std::string>, Choice (*)(ModelOptions&)>
      field;
  std::string value;        ///< placeholder in --help: "N"
  std::string help;         ///< empty: not on command lines
  std::string before = {};  ///< value in checkpoints older than the option; empty: none is older
  OptionRange range = {};   ///< of a number
};

/// The option of that name, optionally with another help text. Throws adj::Error if there is none.
ModelOption model_option(const std::string& name, const std::string& help = "");
/// --norm of a family that offers these.
template <Norm... offered>
ModelOption norm_option(const std::string& help = "") {
  ModelOption option = model_option("norm", help);
  option.field = +[](ModelOptions& o) { return Choice(&o.norm, {offered...}); };
  return option;
}
/// Options by name, in this order.
std::vector<ModelOption> model_options(const std::vector<std::string>& names);

/// Sets these options from text, as stored in checkpoints. Throws UsageError if a value is missing, or is not
/// the expected number, flag or name.
void read_options(ModelOptions& options, const std::vector<ModelOption>& which,
                  const std::map<std::string, std::string>& values);

}  // namespace adj::models
