#pragma once

#include "model.h"
#include "options.h"

#include <memory>

namespace adj::models {

/// Models of one kind of layer, which options tell apart. What it holds is all that is known of a family: to
/// make a model again from what a checkpoint says, nothing else is needed.
struct ModelFamily {
  std::string program;               ///< whose checkpoints hold such models: "train_gat"
  std::vector<std::string> models;   ///< what ModelOptions::model may be: "gat", "gatv2"
  std::vector<ModelOption> options;  ///< those that it takes beside hidden, layers and dropout
  /// Throws UsageError where options of its own are out of range. Optional.
  void (*check_own)(const ModelOptions&) = nullptr;
  /// The model on the CPU, with initial weights from the default generator.
  std::unique_ptr<Model> (*make_checked)(int64_t in, int64_t out, const ModelOptions&) = nullptr;
  ModelOptions defaults = {};  ///< of the paper, where the family's differ

  /// Is the option of that name among `options`?
  bool takes(const std::string& option) const;
  /// All that a model is made by: `model` where there are several, the family's own, hidden, layers and
  /// dropout.
  std::vector<ModelOption> all_options() const;
  /// Throws UsageError where a model's options are out of range.
  void check(const ModelOptions& options) const;
  /// A model of `in` features and `out` numbers for each node (or graph), with initial weights from the
  /// default generator, on the CPU. Throws UsageError as check() does.
  std::unique_ptr<Model> make(int64_t in, int64_t out, const ModelOptions& options) const;
  /// Likewise, of a family whose models are NodeModels, GraphModels or LinkModels. Throws adj::Error for
  /// another one.
  template <class Kind>
  std::unique_ptr<Kind> make_as(int64_t in, int64_t out, const ModelOptions& o) const {
    std::unique_ptr<Model> model = make(in, out, o);
    auto* kind = model->as<Kind>();
    ADJ_CHECK(kind != nullptr, "{} is of another task", model->describe());
    (void)model.release();
    return std::unique_ptr<Kind>(kind);
  }
};

// One file a family, named for it; each opens with what the model is and where it comes from.
ModelFamily gcn();
ModelFamily gat();
ModelFamily sage();
ModelFamily gin();
ModelFamily transformer();
ModelFamily agnn();
ModelFamily graph_gin();
ModelFamily link();
ModelFamily qgnn();
ModelFamily graph_qgin();

/// All of them.
std::vector<ModelFamily> families();

}  // namespace adj::models
