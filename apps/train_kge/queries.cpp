#include "queries.h"

#include <adjoint/core/file.h>
#include <adjoint/core/log.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/table_file.h>
#include <adjoint/data/import/records.h>
#include <adjoint/data/import/triples.h>

#include <algorithm>
#include <string_view>

#include <fmt/ranges.h>

namespace adj::apps {

namespace {

std::vector<std::string> fields_of(TextSource& source, int64_t line, std::string_view record,
                                   Separator separator) {
  std::vector<std::string> fields;
  for (RecordFields field(source, line, record, separator); field.next();) fields.emplace_back(field.field());
  return fields;
}

}  // namespace

TripleQueries::TripleQueries(const training::TripleOptions& options, const Triples& data)
    : data_(data), out_(options.out), top_(options.top) {
  if (options.predict.empty()) return;
  const std::string& path = options.predict;
  const std::string beginning = first_bytes(path, 4096);
  const Separator separator = beginning.substr(0, beginning.find('\n')).find('\t') != std::string::npos
                                  ? Separator::tab
                                  : Separator::comma;
  const NameNumbers entities(data.entities, "entity"), relations(data.relations, "relation");
  TextSource source(path);
  RecordReader reader(source, {.separator = separator});
  TripleColumns columns{0, 1, 2};
  for (bool first = true; reader.next(); first = false) {
    const std::vector<std::string> fields = fields_of(source, reader.number(), reader.record(), separator);
    if (fields.size() != 3)
      source.fail(reader.number(), "{} fields, expected 3: head, relation and tail", fields.size());
    const std::vector<std::string> names{"head", "relation", "tail"};
    if (first && std::is_permutation(fields.begin(), fields.end(), names.begin())) {
      columns = triple_columns(fmt::format("{}", fmt::join(fields, ",")));
      continue;
    }
    const std::string &head = fields[columns[0]], &relation = fields[columns[1]], &tail = fields[columns[2]];
    if (head.empty() == tail.empty())
      source.fail(reader.number(), "{}, expected one end and nothing for the other",
                  head.empty() ? "no entity" : "two entities");
    const std::string where = fmt::format("{}:{}", excerpt(path), reader.number());
    queries_.push_back({entities.number(head.empty() ? tail : head, where), relations.number(relation, where),
                        head.empty()});
  }
  if (queries_.empty()) data_fail("{}: no queries, expected lines of head, relation and tail", path);
}

void TripleQueries::write(const models::TripleEmbedding& model) const {
  if (out_.empty()) return;
  const Device device = model.entity().device();
  std::vector<int32_t> triples;
  for (const Query& query : queries_)
    triples.insert(triples.end(), {query.known, query.relation, query.known});
  const auto known_of = [&](bool heads) {
    return known_entities(Tensor::from(triples, Shape{std::ssize(queries_), 3}),
                          {data_.train, data_.val, data_.test}, heads);
  };
  const KnownEntities tails = known_of(false), heads = known_of(true);
  std::vector<Answer> answers;
  int64_t known = 0;
  for (size_t q = 0; q < queries_.size(); ++q) {
    const Query& query = queries_[q];
    const auto scalar = [&](int32_t value) { return Tensor::from(std::vector{value}, device); };
    const std::vector<float> scores =
        model.scores(scalar(query.known), scalar(query.relation), query.heads).to_vector<float>();
    const KnownEntities& list = query.heads ? heads : tails;
    std::vector<uint8_t> left_out(scores.size());
    const int64_t* offsets = list.offsets.data<int64_t>() + list.rows.data<int32_t>()[q];
    for (int64_t k = offsets[0]; k < offsets[1]; ++k)
      left_out[static_cast<size_t>(list.ids.data<int32_t>()[k])] = 1;
    known += offsets[1] - offsets[0];
    std::vector<int32_t> order;
    for (size_t k = 0; k < scores.size(); ++k)
      if (left_out[k] == 0) order.push_back(static_cast<int32_t>(k));
    const auto count = std::min(std::ssize(order), top_);
    std::partial_sort(order.begin(), order.begin() + count, order.end(), [&](int32_t a, int32_t b) {
      const float left = scores[static_cast<size_t>(a)], right = scores[static_cast<size_t>(b)];
      return left != right ? left > right : a < b;
    });
    for (int64_t k = 0; k < count; ++k) {
      const int32_t entity = order[static_cast<size_t>(k)];
      answers.push_back({&query, entity, k + 1, scores[static_cast<size_t>(entity)]});
    }
  }
  const auto answer = [&](int64_t row) -> const Answer& { return answers[static_cast<size_t>(row)]; };
  const auto end = [&](bool head) {
    return [&, head](int64_t row) {
      const Answer& a = answer(row);
      return std::string_view(
          data_.entities[static_cast<size_t>(a.query->heads == head ? a.entity : a.query->known)]);
    };
  };
  const auto relation = [&](int64_t row) {
    return std::string_view(data_.relations[static_cast<size_t>(answer(row).query->relation)]);
  };
  using adj::detail::Column;
  adj::detail::write_table(out_,
                           {Column::of_texts("head", end(true)), Column::of_texts("relation", relation),
                            Column::of_texts("tail", end(false)),
                            Column::of_numbers("rank", [&](int64_t row) { return answer(row).rank; }),
                            Column::of_numbers("score", [&](int64_t row) { return answer(row).score; })},
                           std::ssize(answers));
  log_info("{}: {} queries; {} known triples of theirs are left out", printable(out_), queries_.size(),
           known);
}

}  // namespace adj::apps
