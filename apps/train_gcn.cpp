#include "common/command_line.h"
#include <adjoint/adjoint.h>
#include <adjoint/training.h>

using namespace adj;
using namespace adj::training;

int main(int argc, char** argv) {
  Options options(models::gcn(), "Trains a graph convolutional network (Kipf & Welling 2017).");
  options.batches.loaders = {neighbor_loader(), cluster_loader(), saint_loader()};
  options.decayed = "all convolutions but the last, no norm (Kipf & Welling 2017)";
  return run_program(options.program(), [&] {
    const auto settings = apps::read_command_line(argc, argv, options);
    if (!settings) return;
    settings->apply();
    const Dataset data = load_data(*settings);
    const LearningTask task(*settings, data, node_examples(*settings, data));

    Run run(*settings, task);
    while (run.next_run()) {
      const auto model = make_model(*settings, task);
      const auto adam = make_adam(*model, settings->run);
      run.begin(*model, *adam);
      const auto epochs = node_epochs(run, *model, [&](const NodeBatch& batch) {
        Var loss = run.objective().loss_of_batch(batch.forward(*model), batch.y, batch.index, batch.weight);
        loss.backward();
        adam->step();
        return loss;
      });
      while (run.next_epoch()) run.end_epoch(epochs->train(run.epoch()), *epochs);
      run.finish(*epochs);
    }
    write_predictions(run);
    write_results(run);
  });
}
