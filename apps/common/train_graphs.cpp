#include "command_line.h"
#include "train.h"
#include <adjoint/adjoint.h>
#include <adjoint/training.h>

namespace adj::apps {

using namespace training;

int train_graphs(int argc, char** argv, Options& options) {
  GraphOptions graphs;
  graphs.add_to(options);
  return run_program(options.program(), [&] {
    if (!read_command_line(argc, argv, options)) return;
    graphs.check();
    options.apply();
    Dataset data = load_data(options);
    const Examples examples = graph_examples(options, graphs, data);
    const LearningTask task(options, data, examples);

    Run run(options, task);
    while (run.next_run()) {  // a fold, or a split of the file
      const auto model = make_model<models::GraphModel>(options, task);
      const auto adam = make_adam(*model, options.run);
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

}  // namespace adj::apps
