#include "common/command_line.h"
#include <adjoint/adjoint.h>
#include <adjoint/training.h>

using namespace adj;
using namespace adj::training;

int main(int argc, char** argv) {
  Options options(models::graph_gps(),
                  "Trains a graph transformer to classify graphs (Rampasek et al. 2022).");
  GraphOptions graphs;
  graphs.add_to(options);
  return apps::run_training(argc, argv, options, [&](const Settings& settings) {
    settings.apply();
    const LearningTask task = graph_task(settings, graphs);
    Run run(settings, task);
    while (run.next_run()) {  // a fold, or a split of the file
      const auto model = make_model<models::GraphModel>(settings, task);
      const auto optimizer = make_optimizer(*model, settings.run);
      run.begin(*model, *optimizer);
      const auto batches = graph_batches(run, graphs, *model);
      Step step(*batches, [&](const GraphBatch& batch) {
        Var loss = run.objective().loss_of_batch((*model)(batch.graph, batch.offsets, batch.x), batch.y);
        loss.backward();
        optimizer->step();
        return loss;
      });
      for (auto& epoch : run.epochs(*batches))
        for (const GraphBatch& batch : epoch) epoch.add(step(batch));
    }
    write_predictions(run);
    write_results(run);
  });
}
