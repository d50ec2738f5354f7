#include "queries.h"

#include <adjoint/core/file.h>
#include <adjoint/core/log.h>
#include <adjoint/core/text.h>
#include <adjoint/data/import/records.h>
#include <adjoint/data/import/triples.h>

#include <algorithm>
#include <numeric>

#include <fmt/ranges.h>

namespace adj::apps {

namespace {

std::vector<std::string> fields_of(TextSource& source, int64_t line, std::string_view record,
                                   Separator separator) {
  std::vector<std::string> fields;
  for (RecordFields field(source, line, record, separator); field.next();) fields.emplace_back(field.field());
  return fields;
}

/// In quotes where a table of commas needs them (RFC 4180).
std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string all = "\"";
  for (char c : text) all += c == '"' ? "\"\"" : std::string(1, c);
  return all + '"';
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
  std::string table = "head,relation,tail,rank,score\n";
  int64_t known = 0;
  for (const Query& query : queries_) {
    const auto scalar = [&](int32_t value) { return Tensor::from(std::vector{value}, device); };
    const std::vector<float> scores =
        model.scores(scalar(query.known), scalar(query.relation), query.heads).to_vector<float>();
    std::vector<int32_t> triple{query.known, query.relation, query.known};
    const KnownEntities list =
        known_entities(Tensor::from(triple, Shape{1, 3}), {data_.train, data_.val, data_.test}, query.heads);
    std::vector<uint8_t> left_out(scores.size());
    const int64_t* offsets = list.offsets.data<int64_t>() + *list.rows.data<int32_t>();
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
    const std::string known_name = quoted(data_.entities[static_cast<size_t>(query.known)]),
                      relation = quoted(data_.relations[static_cast<size_t>(query.relation)]);
    for (int64_t k = 0; k < count; ++k) {
      const auto entity = static_cast<size_t>(order[static_cast<size_t>(k)]);
      const std::string other = quoted(data_.entities[entity]);
      table += fmt::format("{},{},{},{},{}\n", query.heads ? other : known_name, relation,
                           query.heads ? known_name : other, k + 1, scores[entity]);
    }
  }
  replace_file(out_, table);
  log_info("{}: {} queries; {} known triples of theirs are left out", printable(out_), queries_.size(),
           known);
}

}  // namespace adj::apps
