#include <adjoint/core/option_check.h>
#include <adjoint/core/random.h>
#include <adjoint/core/text.h>
#include <adjoint/data/detail/names.h>
#include <adjoint/data/triples.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace adj {

namespace {

using Row = std::array<int32_t, 3>;

Tensor tensor_of_rows(const std::vector<Row>& rows) {
  std::vector<int32_t> numbers;
  numbers.reserve(3 * rows.size());
  for (const Row& row : rows) numbers.insert(numbers.end(), row.begin(), row.end());
  return Tensor::from(numbers, Shape{std::ssize(rows), 3});
}

bool are_distinct(const std::vector<std::string>& names) {
  return std::set<std::string_view>(names.begin(), names.end()).size() == names.size();
}

}  // namespace

Triples triples_of(const TypedDataset& data, const std::string& path) {
  Triples found;
  found.name = data.name;
  std::map<std::string, int32_t, std::less<>> first;  // entity of a type
  std::vector<std::string> typed;
  for (const std::string& type : data.graph.node_types()) {
    first[type] = static_cast<int32_t>(found.entities.size());
    const auto items = data.nodes.find(type);
    for (std::string& name :
         detail::names_of(items == data.nodes.end() ? ItemTable() : items->second, data.num_nodes(type))) {
      typed.push_back(type + ":" + name);
      found.entities.push_back(std::move(name));
    }
  }
  if (!are_distinct(found.entities)) found.entities = typed;
  std::vector<Row> train, val, test;
  std::vector<std::string> long_names;
  for (const EdgeType& type : data.graph.edge_types()) {
    const auto relation = static_cast<int32_t>(found.relations.size());
    found.relations.push_back(type.name);
    long_names.push_back(text_of(type));
    const EdgeIndex edges = data.graph.relation(type).edge_index();
    const std::vector<int32_t> src = edges.src.to_vector<int32_t>(), dst = edges.dst.to_vector<int32_t>();
    const auto items = data.edges.find(type);
    const int32_t first_head = first.at(type.src), first_tail = first.at(type.dst);
    const auto row_of = [&](size_t e) { return Row{first_head + src[e], relation, first_tail + dst[e]}; };
    if (items == data.edges.end() || items->second.splits.empty()) {
      for (size_t e = 0; e < src.size(); ++e) train.push_back(row_of(e));
      continue;
    }
    const Split& split = items->second.splits[0];
    size_t taken = 0;
    for (const auto& [part, rows] :
         {std::pair(&split.train, &train), {&split.val, &val}, {&split.test, &test}}) {
      std::vector<int32_t> numbers = *part ? part->to_vector<int32_t>() : std::vector<int32_t>();
      std::sort(numbers.begin(), numbers.end());
      for (int32_t e : numbers) rows->push_back(row_of(static_cast<size_t>(e)));
      taken += numbers.size();
    }
    found.passed_over += static_cast<int64_t>(src.size() - taken);
  }
  if (!are_distinct(found.relations)) found.relations = long_names;
  if (train.empty()) data_fail("{}: no triples to train on", path);
  found.train = tensor_of_rows(train);
  found.val = tensor_of_rows(val);
  found.test = tensor_of_rows(test);
  return found;
}

void split_triples(Triples& triples, double val, double test, uint64_t seed) {
  const int64_t all = triples.train.size(0);
  const auto share = [&](double part) { return static_cast<int64_t>(part * static_cast<double>(all) + 0.5); };
  const int64_t to_val = share(val), to_test = share(test);
  if (to_val + to_test >= all || to_val == 0 || to_test == 0)
    data_fail("split of {} triples: {} to validate, {} to test and {} to train, expected one at least", all,
              to_val, to_test, all - to_val - to_test);
  Generator random(seed);
  const std::vector<int32_t> order = random_permutation(all, random).to_vector<int32_t>(),
                             numbers = triples.train.to_vector<int32_t>();
  std::vector<int32_t> ends{0, static_cast<int32_t>(to_val), static_cast<int32_t>(to_val + to_test),
                            static_cast<int32_t>(all)};
  Tensor* parts[] = {&triples.val, &triples.test, &triples.train};
  for (size_t p = 0; p < 3; ++p) {
    std::vector<int32_t> chosen(order.begin() + ends[p], order.begin() + ends[p + 1]);
    std::sort(chosen.begin(), chosen.end());
    std::vector<Row> rows;
    for (int32_t k : chosen) {
      const auto place = 3 * static_cast<size_t>(k);
      rows.push_back({numbers[place], numbers[place + 1], numbers[place + 2]});
    }
    *parts[p] = tensor_of_rows(rows);
  }
}

NameNumbers::NameNumbers(const std::vector<std::string>& names, std::string thing)
    : names_(names), thing_(std::move(thing)) {
  for (size_t k = 0; k < names.size(); ++k) numbers_.emplace(names[k], static_cast<int32_t>(k));
}

int32_t NameNumbers::number(const std::string& name, const std::string& where) const {
  const auto found = numbers_.find(name);
  if (found == numbers_.end())
    data_fail("{}: no {} '{}'{}", where, thing_, excerpt(name),
              names_.size() <= 10000 ? did_you_mean(name, names_) : "");
  return found->second;
}

KnownEntities known_entities(const Tensor& triples, const std::vector<Tensor>& known, bool heads) {
  const size_t end = heads ? 2 : 0, asked = 2 - end;
  std::vector<Row> all;  // entity, relation, answer
  for (const Tensor& part : known) {
    const std::vector<int32_t> numbers = part.to_vector<int32_t>();
    for (size_t k = 0; k < numbers.size(); k += 3)
      all.push_back({numbers[k + end], numbers[k + 1], numbers[k + asked]});
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::vector<int64_t> offsets{0};
  std::vector<int32_t> ids, rows;
  std::vector<std::pair<int32_t, int32_t>> queries;
  for (size_t k = 0; k < all.size(); ++k) {
    const std::pair query(all[k][0], all[k][1]);
    if (queries.empty() || queries.back() != query) {
      if (!queries.empty()) offsets.push_back(static_cast<int64_t>(k));
      queries.push_back(query);
    }
    ids.push_back(all[k][2]);
  }
  if (!queries.empty()) offsets.push_back(std::ssize(all));
  offsets.push_back(offsets.back());  // of a query that is not known
  const std::vector<int32_t> numbers = triples.to_vector<int32_t>();
  for (size_t k = 0; k < numbers.size(); k += 3) {
    const std::pair query(numbers[k + end], numbers[k + 1]);
    const auto found = std::lower_bound(queries.begin(), queries.end(), query);
    rows.push_back(static_cast<int32_t>(found != queries.end() && *found == query ? found - queries.begin()
                                                                                  : std::ssize(queries)));
  }
  return {Tensor::from(offsets), Tensor::from(ids), Tensor::from(rows)};
}

Tensor frequency_weights(const Tensor& triples) {
  std::vector<double> counts(static_cast<size_t>(triples.size(0)), 6.0);
  for (const bool heads : {false, true}) {
    const KnownEntities known = known_entities(triples, {triples}, heads);
    const int64_t* offsets = known.offsets.data<int64_t>();
    const int32_t* rows = known.rows.data<int32_t>();
    for (size_t k = 0; k < counts.size(); ++k)
      counts[k] += static_cast<double>(offsets[rows[k] + 1] - offsets[rows[k]]);
  }
  double sum = 0.0;
  for (const double count : counts) sum += 1.0 / std::sqrt(count);
  std::vector<float> weights;
  for (const double count : counts)
    weights.push_back(static_cast<float>(static_cast<double>(counts.size()) / sum / std::sqrt(count)));
  return Tensor::from(weights);
}

}  // namespace adj
