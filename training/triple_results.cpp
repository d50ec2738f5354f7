#include <adjoint/core/allocator.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/predictions.h>
#include <adjoint/training/triples.h>

#include <algorithm>

namespace adj::training {

namespace {

/// A dataset without edges, of which names are written.
Dataset named_rows(const std::string& name, const std::vector<std::string>& names) {
  Dataset rows;
  rows.name = name;
  const Tensor none = Tensor::empty({0}, DType::i32);
  rows.graph = Graph::from_coo(std::ssize(names), none, none);
  const detail::PackedNames packed = detail::packed(names);
  rows.node_names = packed.bytes;
  rows.node_name_offsets = packed.offsets;
  return rows;
}

}  // namespace

void TripleRun::print_results() const {
  std::vector<double> ms = epoch_ms_;
  std::sort(ms.begin(), ms.end());
  const double median = ms.empty() ? 0.0 : ms[ms.size() / 2];
  if (!o_.json || !o_.quiet) {
    fmt::print("validation MRR {:.4f} after {} of {} epochs, {:.3g} ms each\n", val_.mrr, best_.best_epoch(),
               epoch_, median);
    fmt::print(
        "test MRR {:.4f}  Hits@1 {:.4f}  Hits@3 {:.4f}  Hits@10 {:.4f}  AMRI {:.4f}  mean rank {:.1f}\n",
        test_.mrr, test_.hits_1, test_.hits_3, test_.hits_10, test_.amri, test_.mean);
  }
  if (!o_.json) return;
  const auto peak = memory_stats(device_).peak;
  fmt::print(
      R"({{"app": "train_kge", "dataset": {}, "model": {}, "device": {}, "seed": {}, "epochs": {}, )"
      R"("train_loss": {}, "val_mrr": {}, "test_mrr": {}, "test_hits_1": {}, "test_hits_3": {}, )"
      R"("test_hits_10": {}, "test_amri": {}, "test_mean_rank": {}, "best_epoch": {}, "epoch_ms": {:.4f}, )"
      R"("peak_mb": {:.1f}}})"
      "\n",
      json_text(data_.name), json_text(name_of(o_.model)), json_text(device_.str()), o_.seed, epoch_,
      train_loss_, val_.mrr, test_.mrr, test_.hits_1, test_.hits_3, test_.hits_10, test_.amri, test_.mean,
      best_.best_epoch(), median, static_cast<double>(peak) / 1048576.0);
}

void TripleRun::write_vectors() const {
  if (!o_.embeddings.empty())
    write_embeddings(o_.embeddings, "train_kge", named_rows(data_.name, data_.entities),
                     model_.entity().value().to(Device::cpu()), false);
  if (!o_.relation_embeddings.empty())
    write_embeddings(o_.relation_embeddings, "train_kge", named_rows(data_.name, data_.relations),
                     model_.relation().value().rows(0, data_.num_relations()).to(Device::cpu()), false);
}

}  // namespace adj::training
