#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace adj::models {

/// What shapes a model. Each family takes those of the second half that it names (ModelFamily::options); the
/// others have no effect.
struct ModelOptions {
  std::string model = {};  ///< of its family's: "gat", "gatv2"; empty: the first
  int64_t hidden = 16;     ///< width of the hidden layers, of each head where there are several
  int64_t layers = 2;
  double dropout = 0.5;

  std::string norm = "none";  ///< between layers: "none", "batch" or "layer"
  bool residual = false;
  int64_t heads = 1, output_heads = 1;
  double attention_dropout = 0.0;
  std::string aggr = "mean";  ///< of SAGE's neighbours: "mean", "max" or "pool"
  bool train_eps = false;     ///< of GIN
  bool gate = false;          ///< of the graph transformer

  // Of quantised models. Bits are a number for all layers, or one for each, as "8,4,2": 1 to 8, or 32.
  std::string bits = "32";
  std::string bits_weights = "auto", bits_activations = "auto";  ///< or bits, in place of those above
  std::string scales = "learned";                                ///< or "running" (nn/quantizer.h)
  /// Probability by which the nodes of largest in-degree pass a training step unquantised, and that from
  /// which it rises with the in-degree's rank (Degree-Quant, Tailor et al. 2021). 0: none does.
  double degree_quant = 0.0, degree_quant_least = 0.0;
  /// Mean bits that activations are to have, each node as many as it learns (A2Q, Zhu et al. 2023); 0: they
  /// are not by node. What is beyond the mean costs node_bits_penalty; `nodes` are those of the graph.
  double node_bits = 0.0, node_bits_penalty = 1.0;
  int64_t nodes = 0;
  /// Of nodes: the newest batch's share of running statistics of batch norms, 1 where each is the whole
  /// graph, of which there is nothing to average. An evaluation reads the statistics alone.
  double norm_momentum = 0.1;

  // Of models of links.
  int64_t embedding = 0;        ///< width of a node's embedding; 0: hidden
  std::string decoder = "dot";  ///< or "mlp"

  // Of models of graphs.
  std::string pool = "sum";            ///< of a graph's nodes: "sum", "mean" or "max"
  std::string node_features = "file";  ///< or "constant", "degree" (models/node_features.h)
};

/// One of them: its name on command lines and in checkpoints, its field, and what --help says of it.
struct ModelOption {
  std::string name;  ///< "attention-dropout"
  std::variant<int64_t ModelOptions::*, double ModelOptions::*, bool ModelOptions::*,
               std::string ModelOptions::*>
      field;
  std::string value;  ///< placeholder for the value in --help: "N"
  std::string help;   ///< empty: not on command lines
};

/// The option of that name, with another help text if one is given. Throws adj::Error if there is none.
ModelOption model_option(const std::string& name, const std::string& help = "");
/// Several, in this order.
std::vector<ModelOption> model_options(const std::vector<std::string>& names);

/// Sets these options from text, as checkpoints keep them. Throws UsageError where a value is missing, or is
/// no number or flag where one is expected.
void read_options(ModelOptions& options, const std::vector<ModelOption>& which,
                  const std::map<std::string, std::string>& values);

}  // namespace adj::models
