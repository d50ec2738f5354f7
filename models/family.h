#pragma once

#include <adjoint/models/model.h>
#include <adjoint/models/options.h>

#include <memory>

namespace adj::models {

/// Models built from one kind of layer. Holds everything needed to rebuild a model from a checkpoint.
struct ModelFamily {
  std::string program;               ///< the program whose checkpoints hold such models: "train_gat"
  std::vector<std::string> models;   ///< valid values of ModelOptions::model: "gat", "gatv2"
  std::vector<ModelOption> options;  ///< options in addition to hidden, layers and dropout
  /// Checks the family's own options; throws UsageError if out of range. Optional.
  void (*check_own)(const ModelOptions&) = nullptr;
  /// The model on the CPU, with initial weights from the default generator.
  std::unique_ptr<Model> (*make_checked)(int64_t in, int64_t out, const ModelOptions&) = nullptr;
  ModelOptions defaults = {};  ///< of the paper, where the family's differ
  bool in_pyg = true;          ///< PyG has these layers: `predict` reads its weights (models/pyg_state.h)
  std::vector<std::string> typed = {};  ///< those of graphs of several types (ModelOptions::types)

  /// Whether the options' model is one of graphs of several types.
  bool is_typed(const ModelOptions& options) const;

  /// Whether `options` has an option of that name.
  bool takes(const std::string& option) const;
  /// All options of a model: `model` if there are several, the family's own, hidden, layers and dropout.
  std::vector<ModelOption> all_options() const;
  /// Throws UsageError if a model's options are out of range.
  void check(const ModelOptions& options) const;
  /// A model with `in` features and `out` outputs per node (or graph) on the CPU, with initial weights from
  /// the default generator. Throws UsageError as check() does.
  std::unique_ptr<Model> make(int64_t in, int64_t out, const ModelOptions& options) const;
  /// The same as a NodeModel, GraphModel, LinkModel or EdgeModel. Throws adj::Error if the family is of
  /// another kind.
  template <class Kind>
  std::unique_ptr<Kind> make_as(int64_t in, int64_t out, const ModelOptions& o) const {
    std::unique_ptr<Model> model = make(in, out, o);
    auto* kind = model->as<Kind>();
    ADJ_CHECK(kind != nullptr, "{} is a model of another task", model->describe());
    (void)model.release();
    return std::unique_ptr<Kind>(kind);
  }
  /// Model::exact_by_layers() of a model with these options.
  bool exact_by_layers(const ModelOptions& options) const;
  /// Model::edge_support() of a model with these options.
  EdgeSupport edge_support(const ModelOptions& options) const;
};

/// Makes a model M from (in, out, options); for ModelFamily::make_checked.
template <class M>
std::unique_ptr<Model> construct(int64_t in, int64_t out, const ModelOptions& o) {
  return std::make_unique<nn::Model<M>>(in, out, o);
}

// Each family has a file of its name, which begins with the model's definition and source.
ModelFamily gcn();          ///< graph convolutional network (Kipf & Welling 2017)
ModelFamily gat();          ///< attention: GAT (Veličković 2018), GATv2 (Brody 2022)
ModelFamily sage();         ///< GraphSAGE (Hamilton 2017)
ModelFamily gin();          ///< isomorphism network: GIN (Xu 2019), GINE (Hu 2020) with edge attributes
ModelFamily transformer();  ///< graph transformer (Shi 2021)
ModelFamily agnn();         ///< cosine attention, a temperature per layer (Thekumparampil 2018)
ModelFamily graph_gin();    ///< GIN or GINE of whole graphs, with a readout of every layer (Xu 2019)
ModelFamily link();         ///< LinkModel: logits of pairs of nodes
ModelFamily edge();         ///< EdgeModel: outputs of edges
ModelFamily qgnn();         ///< quantised GCN or GIN of nodes, also for IntegerModel (QGTC, Wang 2022)
ModelFamily rgcn();         ///< of heterogeneous graphs: R-GCN (Schlichtkrull 2018), R-GAT (Busbridge 2019)
ModelFamily hgt();          ///< transformer of heterogeneous graphs (Hu 2020)
ModelFamily gps();          ///< graph transformer of nodes (Rampášek 2022)
ModelFamily graph_gps();    ///< the same of whole graphs
ModelFamily graph_qgin();   ///< graph_gin() quantised, also for IntegerModel

/// All families.
std::vector<ModelFamily> families();

}  // namespace adj::models
