#include "graphs.h"

#include "epochs.h"
#include "outputs.h"
#include <adjoint/data/loader/graph_loader.h>
#include <adjoint/data/predictions.h>
#include <adjoint/graph/edge_attributes.h>
#include <adjoint/graph/splits.h>
#include <adjoint/kernels/elementwise/elementwise.h>
#include <adjoint/models/node_features.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace adj::apps {

namespace {

GraphLoader loader_of(const Dataset& data, const Features& x, const Tensor& labels, const Tensor& which,
                      LoaderOptions options) {
  return {data.graph, data.graph_offsets, make_feature_store(x), labels, which, std::move(options)};
}

/// The graphs `which` as --batch-size asks for them, each once.
GraphLoader each_once(const Dataset& data, const Features& x, const Tensor& which, const Settings& settings) {
  return loader_of(data, x, {}, which,
                   {.batch_size = settings.batch_size, .backward = false, .workers = num_workers(settings)});
}

/// float32, what the model gives for the loader's graphs, in their order.
Tensor run(GraphModel& model, const GraphLoader& loader, int64_t outputs, Device device) {
  const NoGrad no_grad;
  Tensor out = Tensor::empty({loader.num_graphs(), outputs}, DType::f32, device);
  int64_t at = 0;
  for (const GraphBatch& batch : loader.epoch(0)) {
    Tensor rows = out.rows(at, at + batch.size());
    rows.copy_(model(batch.graph, batch.offsets, batch.x).value().to(DType::f32));
    at += batch.size();
  }
  return out;
}

/// For each of `examples` where it stands in `index`, or else index.numel().
Tensor places_in(const Tensor& index, int64_t examples) {
  const std::vector<int32_t> chosen = index.to_vector<int32_t>();
  std::vector<int32_t> places(static_cast<size_t>(examples), static_cast<int32_t>(chosen.size()));
  for (size_t k = 0; k < chosen.size(); ++k) places[static_cast<size_t>(chosen[k])] = static_cast<int32_t>(k);
  return Tensor::from(places, index.device());
}

class GraphBatches : public Epochs {
 public:
  GraphBatches(const Training& training, optim::NonFiniteMonitor* losses)
      : training_(training),
        model_(dynamic_cast<GraphModel&>(training.model)),
        losses_(losses),
        loader_(loader_of(training.data, training.features, training.objective.targets(),
                          training.examples.train,
                          {.batch_size = training.settings.batch_size,
                           .steps = training.settings.iterations,
                           .shuffle = true,
                           .seed = static_cast<uint64_t>(training.seed),
                           .workers = num_workers(training.settings)})),
        validated_(each_once(training.data, training.features, training.examples.val, training.settings)),
        places_(places_in(training.examples.val, training.examples.size())) {}

  Tensor train(int64_t done) override {
    if (const int64_t every = training_.settings.lr_halve; every > 0)
      training_.optimizer.set_rate_factor(std::pow(0.5, static_cast<double>(done / every)));
    Tensor total = Tensor::zeros({}, DType::f32, training_.data.device());
    // Batches that are drawn count alike; of an epoch through all graphs, by their size.
    const bool drawn = training_.settings.iterations > 0;
    const double all = static_cast<double>(drawn ? loader_.size() : loader_.num_graphs());
    for (const GraphBatch& batch : loader_.epoch(done)) {
      Var loss = training_.objective.loss_of_batch(model_(batch.graph, batch.offsets, batch.x), batch.y);
      const double share = (drawn ? 1.0 : static_cast<double>(batch.size())) / all;
      kernels::linear_combination({.a = total, .beta = share, .b = loss.value(), .y = total});
      loss.backward();
      training_.optimizer.step();
    }
    if (losses_ != nullptr) losses_->add(total);
    return total;
  }

  /// Rows of other graphs are 0.
  Evaluation validate() override {
    const NoGrad no_grad;
    const int64_t graphs = validated_.num_graphs(), outputs = training_.examples.outputs;
    const Device device = training_.data.device();
    Tensor rows = Tensor::zeros({graphs + 1, outputs}, DType::f32, device);
    model_.eval();
    Tensor front = rows.rows(0, graphs);
    front.copy_(run(model_, validated_, outputs, device));
    model_.train();
    const Tensor out = detail::gather_edges(rows, places_);
    return {training_.objective.loss(Var(out), training_.examples.val).value(),
            training_.objective.output(out)};
  }

  Tensor outputs() override {
    model_.eval();
    Dataset data = training_.data;
    data.x = training_.features;
    const Tensor out = graph_outputs(model_, data, training_.examples.outputs, training_.settings);
    model_.train();
    return training_.objective.output(out);
  }

 private:
  const Training training_;
  GraphModel& model_;
  optim::NonFiniteMonitor* losses_;
  GraphLoader loader_, validated_;
  Tensor places_;  // of the validated graphs' rows among all
};

/// Split k: fold k is what is validated and tested, the others are for training.
std::vector<Split> cross_validation(const Dataset& data, const std::string& file, const Settings& settings) {
  const int64_t graphs = data.graph_y.size(0), labelled = graphs - data.unlabelled;
  if (labelled < settings.folds)
    data_fail("{}: graphs/y: {} labelled graphs, --folds asks for {} folds", file, labelled, settings.folds);
  Tensor classes = data.graph_y;
  if (data.task != Task::graph_class) {  // in no class but that of the labelled
    const std::vector<float> y = data.graph_y.to_vector<float>();
    const size_t columns = y.size() / static_cast<size_t>(graphs);
    std::vector<int32_t> class_of(static_cast<size_t>(graphs));
    for (size_t g = 0; g < class_of.size(); ++g) {
      const auto row = y.begin() + static_cast<std::ptrdiff_t>(g * columns);
      if (std::all_of(row, row + static_cast<std::ptrdiff_t>(columns), [](float v) { return std::isnan(v); }))
        class_of[g] = -1;
    }
    classes = Tensor::from(class_of);
  }
  Generator generator(static_cast<uint64_t>(settings.seed));
  const auto fold_of = stratified_folds(classes, settings.folds, generator).to_vector<int32_t>();
  std::vector<Split> splits;
  for (int32_t fold = 0; fold < settings.folds; ++fold) {
    std::vector<int32_t> train, held_out;
    for (size_t g = 0; g < fold_of.size(); ++g)
      if (fold_of[g] >= 0) (fold_of[g] == fold ? held_out : train).push_back(static_cast<int32_t>(g));
    const Tensor part = Tensor::from(held_out);
    splits.push_back({Tensor::from(train), part, part});
  }
  return splits;
}

Examples graph_examples(Dataset& data, const std::string& file, const std::string& program,
                        const Settings& settings) {
  if (data.task != Task::graph_class && data.task != Task::graph_regression)
    data_fail("{}: attribute task: {}, {} trains graph_class and graph_regression", file, name_of(data.task),
              program);
  if (!data.graph_offsets) data_fail("{}: graphs/offsets: missing, {} needs many graphs", file, program);
  if (!data.graph_y) data_fail("{}: graphs/y: missing, {} needs labels", file, program);
  set_node_features(data, file, settings);
  if (!data.x)
    data_fail("{}: nodes/x: missing, {} needs node features; --node-features degree or constant makes some",
              file, program);
  Examples examples{.things = "graphs",
                    .task = std::string(name_of(data.task)),
                    .labels = labels_of(data.task),
                    .outputs = data.task == Task::graph_class ? data.classes : data.graph_y.size(1),
                    .y = data.graph_y,
                    .unlabelled = data.unlabelled,
                    .y_place = "graphs/y",
                    .splits = data.splits,
                    .auto_metric = usual_metric("auto", data.task)};
  if (examples.splits.empty()) {
    examples.splits = cross_validation(data, file, settings);
    examples.splits_in_file = false;
    examples.cross_validated = true;
  }
  return examples;
}

}  // namespace

Tensor graph_outputs(GraphModel& model, const Dataset& data, int64_t outputs, const Settings& settings) {
  std::vector<int32_t> all(static_cast<size_t>(data.graph_offsets.numel() - 1));
  std::iota(all.begin(), all.end(), 0);
  return run(model, each_once(data, data.x, Tensor::from(all), settings), outputs, data.device());
}

void set_node_features(Dataset& data, const std::string& file, const Settings& settings, int64_t width) {
  if (settings.node_features == "file") return;
  try {
    data.x = models::node_features(settings.node_features, data.graph,
                                   settings.node_features == "degree" ? width : 0);
  } catch (const Error& error) {
    data_fail("{}: edges: {}", file, error.what());
  }
}

namespace {

void check(const Settings& s) {
  constexpr int64_t kMost = 1'000'000'000;
  expect_integer("folds", s.folds, 2, kMost);
  expect_integer("batch-size", s.batch_size, 1, kMost);
  expect_integer("iterations", s.iterations, 0, kMost);
  expect_integer("lr-halve", s.lr_halve, 0, kMost);
  (void)num_workers(s);
}

}  // namespace

void learn_graphs(Program& program) {
  program.check = check;
  program.defaults.split = "all";
  program.defaults.epochs = 350;
  program.defaults.weight_decay = 0.0;
  program.defaults.batch_size = 32;
  program.defaults.iterations = 50;
  program.defaults.lr_halve = 50;
  program.training_options = [](auto add, Settings& s) {
    add("folds", with_default(s.folds),
        "of a file without splits: graphs are dealt into so many parts, each class alike; each run holds one "
        "out");
    add("batch-size", with_default(s.batch_size), "graphs in a step");
    add("iterations", with_default(s.iterations),
        "steps of an epoch, each on graphs drawn anew (0: an epoch is once through them)");
    add("lr-halve", with_default(s.lr_halve), "halve the learning rate every N epochs (0: never)");
    add("workers", with_default(s.workers), kWorkersHelp);
  };
  program.things = "graphs";
  program.metric_help =
      "accuracy (auto), auc or f1 for classes, auc or f1 for several labels (auto: auc), r2 or mae for "
      "regression (auto: r2)";
  program.examples = [name = program.name()](Dataset& data, const std::string& file,
                                             const Settings& settings) {
    return graph_examples(data, file, name, settings);
  };
  program.epochs = [](const Training& training, optim::NonFiniteMonitor* losses) -> std::unique_ptr<Epochs> {
    return std::make_unique<GraphBatches>(training, losses);
  };
  program.write_outputs = [name = program.name()](const std::string& path, const Dataset& data,
                                                  const Examples&, const Tensor& output) {
    write_predictions(path, name, data, predictions_of(data.task, output, data.class_names));
  };
}

}  // namespace adj::apps
