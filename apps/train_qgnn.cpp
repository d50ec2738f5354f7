#include "common/command_line.h"
#include <adjoint/adjoint.h>
#include <adjoint/training.h>

using namespace adj;
using namespace adj::training;

namespace {

/// Loads the best weights of a training with --bits 32; the first batch initialises the quantizers' scales.
void begin_with(models::Model& model, const std::string& path, const Options& options,
                const models::Preprocessing& preprocessing) {
  const FeatureScaling& scaling = preprocessing.scaling;
  models::Checkpoint checkpoint = models::load_checkpoint(path, "train_qgnn");
  checkpoint.facts.try_emplace("option.node-features", "file");  // older than the option
  const models::ModelOptions& s = options.model;
  for (const auto& [name, value] : {std::pair{"model", s.model},
                                    {"hidden", fmt::format("{}", s.hidden)},
                                    {"layers", fmt::format("{}", s.layers)},
                                    {"norm", std::string(name_of(s.norm))},
                                    {"node-features", std::string(name_of(s.node_features))}})
    if (const std::string& stored = checkpoint.facts[fmt::format("option.{}", name)]; stored != value)
      usage_fail("--from {}: trained with --{} {}, expected {}", path, name, excerpt(stored), value);
  if (const auto kind = models::Preprocessing::scaling_kind(checkpoint); kind != scaling.kind())
    usage_fail("--from {}: trained with --features-scaling {}, expected {}", path, name_of(kind),
               name_of(scaling.kind()));
  if (const int bits = models::Preprocessing::feature_bits(checkpoint); bits != options.data.features_bits)
    usage_fail("--from {}: trained with --features-bits {}, expected {}", path, bits,
               options.data.features_bits);
  const std::vector<std::string> columns = models::Preprocessing::load(checkpoint).feature_names;
  if (columns != preprocessing.feature_names && !columns.empty() && !preprocessing.feature_names.empty())
    usage_fail("--from {}: trained with other columns of features, or in another order", path);
  const std::string prefix = checkpoint.integer("best_epoch") < 0 ? "model." : "best.";
  for (const auto& [name, tensor] : checkpoint.tensors)
    if (name.starts_with(prefix) && name.ends_with(".scale"))
      usage_fail("--from {}: a quantised model, expected one trained with --bits 32", path);
  for (const auto& [name, tensor] : model.state())
    if (name.ends_with("scale") || name.ends_with("zero")) checkpoint.tensors.emplace(prefix + name, tensor);
  models::load_weights(model, checkpoint, prefix);
}

}  // namespace

int main(int argc, char** argv) {
  Options options(models::qgnn(), "Trains a GCN or GIN with quantised products (QGTC, Wang et al. 2022).");
  options.batches.loaders = {cluster_loader(), saint_loader()};
  options.batches.by_layers = false;
  options.decayed = "all parameters except the scales of quantizers";
  std::string initial = "none";
  options.program_options = {
      {"from", &initial, "FILE", "initial weights: a checkpoint of a training with --bits 32"}};
  return apps::run_training(argc, argv, options, [&](const Settings& settings) {
    settings.apply();
    const LearningTask task = node_task(settings);
    Run run(settings, task);
    while (run.next_run()) {
      const auto model = make_model(settings, task);
      if (initial != "none") begin_with(*model, initial, settings, task.preprocessing);
      const auto optimizer = make_optimizer(*model, settings.run);
      run.begin(*model, *optimizer);
      const auto batches = node_batches(run, *model);
      Step step(*batches, [&](const NodeBatch& batch) {
        const Var loss =
            run.objective().loss_of_batch(batch.forward(*model), batch.y, batch.index, batch.weight);
        loss.backward();
        optimizer->step();
        return loss;
      });
      for (auto& epoch : run.epochs(*batches))
        for (const NodeBatch& batch : epoch) epoch.add(step(batch));
    }
    write_predictions(run);
    write_results(run);
  });
}
