#include <adjoint/core/log.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/content_hash.h>
#include <adjoint/training/triples.h>

#include <filesystem>

namespace adj::training {

Triples load_triples(const TripleOptions& o) {
  Triples data = triples_of(load_typed_dataset(o.data), o.data);
  if (data.name.empty()) data.name = std::filesystem::path(o.data).stem().string();
  if (data.passed_over > 0)
    log_warning("{}: {} edges are in no part of the split and passed over", printable(o.data),
                data.passed_over);
  if (data.val.numel() + data.test.numel() == 0) {
    split_triples(data, o.val, o.test, static_cast<uint64_t>(o.seed));
    log_info("{} has no split of edges: {} triples train, {} validate, {} test, drawn by --seed {}",
             printable(o.data), data.train.size(0), data.val.size(0), data.test.size(0), o.seed);
  }
  std::vector<uint8_t> seen(data.entities.size());
  const auto ends = [](const Tensor& triples, auto&& f) {
    const std::vector<int32_t> numbers = triples.to_vector<int32_t>();
    for (size_t k = 0; k < numbers.size(); k += 3)
      f(k / 3, static_cast<size_t>(numbers[k])), f(k / 3, static_cast<size_t>(numbers[k + 2]));
  };
  ends(data.train, [&](size_t, size_t entity) { seen[entity] = 1; });
  for (const auto& [name, part] : {std::pair("val", &data.val), {"test", &data.test}}) {
    std::vector<size_t> rows;
    ends(*part, [&](size_t row, size_t entity) {
      if (seen[entity] == 0 && (rows.empty() || rows.back() != row)) rows.push_back(row);
    });
    if (!rows.empty())
      log_info("{} of {} {} triples have an entity that no training triple has; they are kept", rows.size(),
               part->size(0), name);
  }
  return data;
}

std::string triple_fingerprint(const Triples& data) {
  detail::ContentHash hash;
  for (const auto* names : {&data.entities, &data.relations})
    for (const std::string& name : *names) hash.add(std::string_view(name));
  for (const Tensor* part : {&data.train, &data.val, &data.test}) hash.add(*part);
  return fmt::format("{}: {} entities, {} relations, contents {:016x}", data.name, data.num_entities(),
                     data.num_relations(), hash.result());
}

}  // namespace adj::training
