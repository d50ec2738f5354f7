#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/predictions.h>
#include <adjoint/training/triples.h>

namespace adj::training {

void TripleRun::write_row(optim::MetricsFile& file) const {
  file.add({static_cast<double>(epoch()), train_loss(), val_.mrr, val_.hits_10});
}

std::string TripleRun::progress_note() const { return fmt::format("val MRR {:.4f}", val_.mrr); }

void TripleRun::print() const {
  fmt::print("validation MRR {:.4f} after {} of {} epochs, {:.3g} ms each\n", val_.mrr, best_epoch(), epoch(),
             epoch_ms());
  fmt::print("test MRR {:.4f}  Hits@1 {:.4f}  Hits@3 {:.4f}  Hits@10 {:.4f}  AMRI {:.4f}  mean rank {:.1f}\n",
             test_.mrr, test_.hits_1, test_.hits_3, test_.hits_10, test_.amri, test_.mean);
}

std::string TripleRun::json() const {
  return fmt::format(
             R"({{"app": "train_kge", "dataset": {}, "model": {}, "device": {}, "seed": {}, "epochs": {}, )"
             R"("metric": "mrr", "train_loss": {}, "val_acc": {}, "test_acc": {}, "val_mrr": {}, "test_mrr": {}, )"
             R"("test_hits_1": {}, "test_hits_3": {}, "test_hits_10": {}, "test_amri": {}, "test_mean_rank": {}, )",
             json_text(data_.name), json_text(name_of(o_.model)), json_text(device().str()), o_.seed, epoch(),
             train_loss(), val_.mrr, test_.mrr, val_.mrr, test_.mrr, test_.hits_1, test_.hits_3,
             test_.hits_10, test_.amri, test_.mean) +
         json_end();
}

void TripleRun::write_vectors() const {
  if (!o_.embeddings.empty())
    write_embeddings(o_.embeddings, "train_kge", detail::named_rows(data_.name, data_.entities),
                     model_.entity().value().to(Device::cpu()), false);
  if (!o_.relation_embeddings.empty())
    write_embeddings(o_.relation_embeddings, "train_kge", detail::named_rows(data_.name, data_.relations),
                     model_.relation().value().rows(0, data_.num_relations()).to(Device::cpu()), false);
}

}  // namespace adj::training
