#include "common/command_line.h"
#include <adjoint/adjoint.h>
#include <adjoint/training.h>

using namespace adj;
using namespace adj::training;

int main(int argc, char** argv) {
  Options options(models::gps(),
                  "Trains a graph transformer with attention between all nodes (Rampasek et al. 2022).");
  return apps::run_training(argc, argv, options, [&](const Settings& settings) {
    settings.apply();
    on_ranks(settings, node_task, [&](Run& run) {
      while (run.next_run()) {
        const auto model = make_model(run);
        const auto optimizer = make_optimizer(*model, settings.run);
        run.begin(*model, *optimizer);
        const auto batches = node_batches(run, *model);
        Step step(*batches, [&](const NodeBatch& batch) {
          Var loss = run.objective().loss_of_batch(batch.forward(*model), batch.y, batch.index, batch.weight);
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
  });
}
