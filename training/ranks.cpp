#include <adjoint/core/log.h>
#include <adjoint/graph/edge_attributes.h>
#include <adjoint/kernels/compute_context.h>
#include <adjoint/training/ranks.h>

#include <algorithm>
#include <mutex>
#include <optional>

#include <fmt/ranges.h>

namespace adj::training {

namespace {

/// "4 ranks on cuda:0, cuda:1".
std::string places_text(const std::vector<Device>& devices) {
  std::vector<std::string> names;
  for (const Device device : devices)
    if (names.empty() || names.back() != device.str()) names.push_back(device.str());
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
  std::vector<int32_t> index;
  for (int64_t i = rows().begin(); i < rows().end(); ++i) index.push_back(static_cast<int32_t>(i));
  return all.rows(Tensor::from(index, all.device())).to(device());
}

Tensor RankPart::places_of(const Tensor& index) const {
  std::vector<int32_t> places;
  for (const int32_t node : index.to_vector<int32_t>())
    if (node >= rows().begin() && node < rows().end())
      places.push_back(node - static_cast<int32_t>(rows().begin()));
  return Tensor::from(places, device());
}

bool RankPart::any(bool value) const {
  const auto all = rows().group.gather(Tensor::from(std::vector{int64_t{value}})).to_vector<int64_t>();
  return std::ranges::find(all, 1) != all.end();
}

void on_ranks(const Settings& settings, const std::function<LearningTask(const Settings&)>& make,
              const std::function<void(Run&)>& train) {
  const std::vector<Device> devices = settings.compute.rank_devices();
  const auto run_task = [&](const Settings& chosen, const LearningTask& task, const RankPart* part) {
    Run run(chosen, task, part);
    train(run);
  };
  if (devices.empty()) return run_task(settings, make(settings), nullptr);
  const bool batches = settings.batches.chosen() != nullptr;
  const std::optional<LearningTask> whole = batches ? std::nullopt : std::optional(make(settings));
  const std::optional<RowCut> cut =
      batches ? std::nullopt : std::optional<RowCut>(whole->data.graph.in_edges().offsets);
  const ComputeContext context = compute_context();
  std::mutex one_reader;
  run_ranks(devices, [&](const Group& group) {
    std::optional<MuteThread> mute;
    if (group.rank() > 0) mute.emplace();
    compute_context() = context;
    if (!batches) {
      const RankPart part(*whole, {group, *cut}, devices);
      log_parts(part);
      return run_task(settings, *whole, &part);
    }
    const RankPart part(group, devices);
    Settings chosen_settings = settings;
    chosen_settings.compute.device = group.device().str();
    std::unique_lock lock(one_reader);
    const LearningTask task = make(chosen_settings);
    lock.unlock();
    run_task(chosen_settings, task, &part);
  });
}

}  // namespace adj::training
