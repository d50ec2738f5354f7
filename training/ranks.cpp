#include <adjoint/build.h>
#include <adjoint/core/cores.h>
#include <adjoint/core/launch.h>
#include <adjoint/core/log.h>
#include <adjoint/graph/detail/index.h>
#include <adjoint/graph/edge_attributes.h>
#include <adjoint/kernels/compute_context.h>
#include <adjoint/training/ranks.h>

#include <algorithm>
#include <mutex>
#include <numeric>
#include <optional>

#include <fmt/ranges.h>

namespace adj::training {

namespace {

/// "4 ranks on cuda:0, cuda:1".
std::string places_text(const std::vector<Device>& devices) {
  std::vector<std::string> names;
  for (const Device device : devices)
    if (std::ranges::find(names, device.str()) == names.end()) names.push_back(device.str());
  return fmt::format("{} rank{} on {}", devices.size(), devices.size() == 1 ? "" : "s",
                     fmt::join(names, ", "));
}

/// Says how the rows are cut.
void log_parts(const RankPart& part) {
  const auto all =
      part.rows()
          .group
          .gather(
              Tensor::from(std::vector{part.graph().num_nodes(), part.graph().num_edges()}).reshape({1, 2}))
          .to_vector<int64_t>();
  int64_t nodes[2] = {all[0], all[0]}, edges[2] = {all[1], all[1]};
  for (size_t k = 2; k < all.size(); k += 2) {
    nodes[0] = std::min(nodes[0], all[k]), nodes[1] = std::max(nodes[1], all[k]);
    edges[0] = std::min(edges[0], all[k + 1]), edges[1] = std::max(edges[1], all[k + 1]);
  }
  log_info("{}: {} to {} nodes and {} to {} edges each", part.describe(), nodes[0], nodes[1], edges[0],
           edges[1]);
}

/// int32: the numbers of a rank's rows among all.
Tensor numbers_of(const RankRows& rows) { return detail::range(rows.begin(), rows.end()); }

std::vector<Device> gather_devices(const Group& group) {
  std::vector<Device> devices;
  for (const std::string& name : group.gather(group.device().str())) devices.push_back(Device::parse(name));
  return devices;
}

/// Throws Error on all ranks unless all have the same text.
void require_same(const Group& group, std::string_view what, const std::string& text) {
  const std::vector<std::string> all = group.gather(text);
  for (size_t rank = 1; rank < all.size(); ++rank)
    ADJ_CHECK(all[rank] == all[0], "{}: rank {} has '{}', and rank 0 '{}'; expected the same on all ranks",
              what, rank, all[rank], all[0]);
}

/// Trains as one rank: on the rows of `cut`, or with its share of each mini-batch.
void train_rank(const Group& group, const Settings& settings, const LearningTask& task, const RowCut* cut,
                const std::function<void(Run&)>& train) {
  const std::vector<Device> devices = gather_devices(group);
  const DType wire = settings.compute.wire == models::Precision::bfloat16 ? DType::bf16 : DType::f32;
  const auto rows = [&] {
    return RankRows{
        .group = group, .cut = *cut, .wire = wire, .by_parts = task.preprocessing.types != nullptr};
  };
  const RankPart part = cut != nullptr ? RankPart(task, rows(), devices) : RankPart(group, devices);
  if (cut != nullptr) log_parts(part);
  Run run(settings, task, &part);
  train(run);
}

/// Absent for mini-batches.
std::optional<RowCut> cut_of(const Settings& settings, const LearningTask& task) {
  if (settings.batches.chosen() != nullptr) return std::nullopt;
  return RowCut(task.data.graph.whole_offsets());
}

Settings on_device(Settings settings, const std::string& device) {
  settings.compute.device = device;
  return settings;
}

/// As one of the processes that were started together, which may differ in what threads share.
void train_process(const Group& group, const Settings& settings,
                   const std::function<LearningTask(const Settings&)>& make,
                   const std::function<void(Run&)>& train) {
  require_same(group, "version", ADJOINT_VERSION);
  for (const auto& [name, value] : settings.identity) require_same(group, "--" + name, value);
  if (const int64_t known = settings.compute.host_devices(); launch().local_ranks < known)
    log_warning("{} of this host's {} devices are used: one by each process; expected as many processes",
                launch().local_ranks, known);
  if (available_cores() < shared_cores())
    log_warning(
        "each process is bound to {} of this host's cores, where {} would be its share; expected "
        "mpirun --bind-to none, or srun --cpu-bind=none",
        available_cores(), shared_cores());
  const bool batches = settings.batches.chosen() != nullptr;
  Settings chosen = on_device(settings, batches ? group.device().str() : "cpu");
  const models::ModelOptions& model = settings.model;
  const bool walks = model.node_features == models::NodeFeatures::random_walk ||
                     model.positional != models::Positional::none;
  if (!batches && walks)
    log_info("{}: each rank holds the whole graph, as walks and eigenvectors leave its nodes",
             model.positional == models::Positional::none
                 ? "--node-features random-walk"
                 : fmt::format("--positional {}", name_of(model.positional)));
  if (!batches && !walks) chosen.readers = group;
  const LearningTask task = make(chosen);
  require_same(group, file_of(settings, task.data), task.contents);
  const std::optional<RowCut> cut = cut_of(settings, task);
  train_rank(group, chosen, task, cut ? &*cut : nullptr, train);
}

}  // namespace

RankPart::RankPart(const LearningTask& task, RankRows rows, const std::vector<Device>& devices)
    : scope_(std::move(rows)),
      places_(places_text(devices)),
      graph_(task.data.graph.rank_rows(scope_.rows())) {}
RankPart::RankPart(Group group, const std::vector<Device>& devices)
    : scope_(std::move(group)), places_(places_text(devices)) {}

Tensor RankPart::rows_of(const Tensor& all) const {
  if (!all) return {};
  return all.rows(rows().begin(), rows().end()).to(device()).clone();
}

Features RankPart::rows_of(const Features& all) const {
  if (all.is_dense()) return Features(rows_of(all.dense()));
  return all.rows(numbers_of(rows()).to(all.device())).to(device());
}

Features RankPart::features_of(const LearningTask& task, DType dtype) const {
  if (!task.data.x_in_file) return rows_of(task.features);
  return Features(task.data.x_in_file.gather(numbers_of(rows())).to(device()).to(dtype));
}

Tensor RankPart::places_of(const Tensor& index) const {
  std::vector<int32_t> places;
  for (const int32_t node : index.to_vector<int32_t>())
    if (node >= rows().begin() && node < rows().end())
      places.push_back(node - static_cast<int32_t>(rows().begin()));
  return Tensor::from(places, device());
}

int64_t RankPart::sum(int64_t count) const {
  const auto all = rows().group.gather(Tensor::from(std::vector{count})).to_vector<int64_t>();
  return std::accumulate(all.begin(), all.end(), int64_t{0});
}

void on_ranks(const Settings& settings, const std::function<LearningTask(const Settings&)>& make,
              const std::function<void(Run&)>& train) {
  if (launch().ranks > 1)
    return run_process(settings.compute.process_device(),
                       [&](const Group& group) { train_process(group, settings, make, train); });
  const std::vector<Device> devices = settings.compute.rank_devices();
  if (devices.empty()) {
    const LearningTask task = make(settings);
    Run run(settings, task);
    return train(run);
  }
  std::optional<LearningTask> whole;  // whose rows all ranks share
  if (settings.batches.chosen() == nullptr) whole.emplace(make(settings));
  const std::optional<RowCut> cut = whole ? cut_of(settings, *whole) : std::nullopt;
  const ComputeContext context = compute_context();
  std::mutex one_reader;
  run_ranks(devices, [&](const Group& group) {
    std::optional<MuteThread> mute;
    if (group.rank() > 0) mute.emplace();
    compute_context() = context;
    if (whole) return train_rank(group, settings, *whole, &*cut, train);
    Settings chosen = on_device(settings, group.device().str());
    chosen.compute.rank = group.rank();
    std::unique_lock lock(one_reader);
    LearningTask task = make(chosen);
    lock.unlock();
    if (chosen.batches.features == FeaturePlace::split)
      task.store = make_split_store(std::exchange(task.features, {}), group);
    train_rank(group, chosen, task, nullptr, train);
  });
}

}  // namespace adj::training
