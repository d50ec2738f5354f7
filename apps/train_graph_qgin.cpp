#include "common/command_line.h"
#include <adjoint/adjoint.h>
#include <adjoint/training.h>

using namespace adj;
using namespace adj::training;

int main(int argc, char** argv) {
  Options options(
      models::graph_qgin(),
      "Trains a quantised graph isomorphism network to classify graphs (QGTC, Wang et al. 2022).");
  GraphOptions graphs;
  graphs.add_to(options);
  options.decayed = "all parameters except the scales of quantizers";
  return run_program(options.program(), [&] {
    const auto settings = apps::read_command_line(argc, argv, options);
    if (!settings) return;
    graphs.check();
    settings->apply();
    Dataset data = load_data(*settings);
    const Examples examples = graph_examples(*settings, graphs, data);
    const LearningTask task(*settings, data, examples);

    Run run(*settings, task);
    while (run.next_run()) {  // a fold, or a split of the file
      const auto model = make_model<models::GraphModel>(*settings, task);
      const auto adam = make_adam(*model, settings->run);
      run.begin(*model, *adam);
      const auto epochs = graph_epochs(run, graphs, *model, [&](const GraphBatch& batch) {
        Var loss = run.objective().loss_of_batch((*model)(batch.graph, batch.offsets, batch.x), batch.y);
        loss.backward();
        adam->step();
        return loss;
      });
      while (run.next_epoch()) {
        adam->set_rate_factor(graphs.rate_factor(run.epoch()));
        run.end_epoch(epochs->train(run.epoch()), *epochs);
      }
      run.finish(*epochs);
    }
    write_predictions(run);
    write_results(run);
  });
}
