#include "common/command_line.h"
#include <adjoint/adjoint.h>
#include <adjoint/training.h>

using namespace adj;
using namespace adj::training;

int main(int argc, char** argv) {
  Options options(models::edge(), "Trains a model that predicts classes or numbers of edges.");
  options.run.weight_decay = 0.0;
  EdgeOptions edges;
  edges.add_to(options);
  return apps::run_training(argc, argv, options, [&](const Settings& settings) {
    check_encoder_options(settings);
    settings.apply();
    const LearningTask task = edge_task(settings);
    Run run(settings, task);
    while (run.next_run()) {
      const auto model = make_model<models::EdgeModel>(settings, task);
      const auto optimizer = make_optimizer(*model, settings.run);
      run.begin(*model, *optimizer);
      const auto batches = edge_batches(run, edges, *model);
      Step step(*batches, [&](const EdgeStepBatch& batch) {
        const Var embeddings = batch.nodes.forward(model->encoder());
        Var loss =
            run.objective().loss_of_batch(model->outputs(embeddings, batch.edges, batch.attributes), batch.y);
        loss.backward();
        optimizer->step();
        return loss;
      });
      for (auto& epoch : run.epochs(*batches))
        for (const EdgeStepBatch& batch : epoch) epoch.add(step(batch));
    }
    write_predictions(run);
    write_results(run);
  });
}
