#include "cases.h"
#include <adjoint/autograd/gradient_check.h>
#include <adjoint/autograd/triple.h>
#include <adjoint/kernels/triple/batches.h>
#include <adjoint/kernels/triple/scores.h>

#include <complex>

using namespace adj;
using namespace adj::test;
using Complex = std::complex<double>;

namespace {

constexpr TripleScore kScores[] = {TripleScore::dot, TripleScore::l1, TripleScore::l2, TripleScore::modulus};

/// Row i of x [N,D].
Numbers row_of(const Tensor& x, int64_t i) { return values(x.rows(i, i + 1)); }
Complex unit_of(const Numbers& x, size_t d) { return {x[d], x[d + x.size() / 2]}; }

/// The score of one query and entity, by the definition.
double plain_score(TripleScore score, const Numbers& q, const Numbers& t) {
  double sum = 0.0;
  for (size_t d = 0; d < (score == TripleScore::modulus ? q.size() / 2 : q.size()); ++d)
    sum += score == TripleScore::dot  ? q[d] * t[d]
           : score == TripleScore::l1 ? std::abs(q[d] - t[d])
           : score == TripleScore::l2 ? (q[d] - t[d]) * (q[d] - t[d])
                                      : std::abs(unit_of(q, d) - unit_of(t, d));
  return score == TripleScore::dot ? sum : score == TripleScore::l2 ? -std::sqrt(sum) : -sum;
}

/// The score of a triple as its paper defines it.
double plain_triple(TripleModel model, const Numbers& h, const Numbers& r, const Numbers& t) {
  double sum = 0.0;
  const size_t half = h.size() / 2;
  switch (model) {
    case TripleModel::transe:
      for (size_t d = 0; d < h.size(); ++d) sum -= std::abs(h[d] + r[d] - t[d]);
      return sum;
    case TripleModel::distmult:
      for (size_t d = 0; d < h.size(); ++d) sum += h[d] * r[d] * t[d];
      return sum;
    case TripleModel::complex:
      for (size_t d = 0; d < half; ++d)
        sum += (unit_of(h, d) * unit_of(r, d) * std::conj(unit_of(t, d))).real();
      return sum;
    case TripleModel::rotate:
      for (size_t d = 0; d < half; ++d)
        sum -= std::abs(unit_of(h, d) * std::polar(1.0, r[d]) - unit_of(t, d));
      return sum;
    case TripleModel::rescal:
      for (size_t i = 0; i < h.size(); ++i)
        for (size_t j = 0; j < h.size(); ++j) sum += h[i] * r[i * h.size() + j] * t[j];
  }
  return sum;
}
TripleScore score_of(TripleModel model) {
  return model == TripleModel::transe   ? TripleScore::l1
         : model == TripleModel::rotate ? TripleScore::modulus
                                        : TripleScore::dot;
}

/// Targets of `queries`: one to five entities each, among `entities`, at rows in some order.
EntityTargets random_targets(int64_t queries, int64_t entities, Device device) {
  std::vector<int64_t> offsets{0};
  std::vector<int32_t> ids, rows;
  for (int64_t i = 0; i < queries; ++i) {
    for (int64_t k = 0; k < std::min<int64_t>(entities, 1 + i % 5); ++k)
      ids.push_back(static_cast<int32_t>((i * 7 + k * 3) % entities));
    std::sort(ids.begin() + offsets.back(), ids.end());
    ids.erase(std::unique(ids.begin() + offsets.back(), ids.end()), ids.end());
    offsets.push_back(std::ssize(ids));
    rows.push_back(static_cast<int32_t>(queries - 1 - i));
  }
  return {Tensor::from(offsets, device), Tensor::from(ids, device), Tensor::from(rows, device)};
}

}  // namespace

TEST_CASE("triple_queries: both sides give the score of the triple") {
  on_devices_and_floats([](Device device, DType dtype) {
    for (TripleModel model : values_of<TripleModel>())
      for (int64_t width : {2, 6, 34}) {
        CAPTURES(name_of(model), width);
        constexpr int64_t kTriples = 5;
        const Tensor e = random_tensor({2 * kTriples, width}, dtype, device),
                     r = random_tensor({kTriples, relation_width(model, width)}, dtype, device);
        const Var q = triple_queries(model, Var(e), Var(r), kTriples);
        const Var y = paired_scores(score_of(model), q, Var(e), kTriples);
        Numbers expected;
        for (int64_t i = 0; i < 2 * kTriples; ++i)
          expected.push_back(plain_triple(model, row_of(e, i % kTriples), row_of(r, i % kTriples),
                                          row_of(e, kTriples + i % kTriples)));
        CHECK(close(y.value(), expected, dtype == DType::f32 ? 1e-5 : 1e-12));
      }
  });
}

TEST_CASE("scores of pairs, and of all entities, by plain loops") {
  on_devices_and_floats([](Device device, DType dtype) {
    for (TripleScore score : kScores)
      for (const auto& [queries, entities, width] : {std::tuple<int64_t, int64_t, int64_t>{0, 3, 4},
                                                     {3, 0, 4},
                                                     {1, 1, 2},
                                                     {70, 129, 38},
                                                     {130, 66, 130}}) {
        CAPTURES(static_cast<int>(score), queries, entities, width);
        const Tensor q = random_tensor({queries, width}, dtype, device),
                     t = random_tensor({entities, width}, dtype, device),
                     other = random_tensor({queries, width}, dtype, device);
        Numbers all, paired;
        for (int64_t i = 0; i < queries; ++i) {
          for (int64_t k = 0; k < entities; ++k)
            all.push_back(plain_score(score, row_of(q, i), row_of(t, k)));
          paired.push_back(plain_score(score, row_of(q, i), row_of(other, (i + 1) % queries)));
        }
        const double error = dtype == DType::f32 ? 1e-5 : 1e-12;
        CHECK(close(entity_scores(score, Var(q), Var(t)).value(), all, error));
        CHECK(close(paired_scores(score, Var(q), Var(other), 1).value(), paired, error));
      }
  });
}

TEST_CASE("gradients of queries, scores and losses agree with differences") {
  on_devices([](Device device) {
    const auto check = [&](const auto& f, std::vector<Tensor> inputs) {
      for (Tensor& input : inputs) input = input.to(device);
      const GradientCheck found = check_gradients(f, inputs);
      CHECK_MESSAGE(found.passed, found.message);
    };
    const auto numbers = [](int64_t rows, int64_t width) { return random_tensor({rows, width}, DType::f64); };
    for (TripleModel model : values_of<TripleModel>())
      for (int64_t inverse : {0, 3, 6}) {
        CAPTURES(name_of(model), inverse);
        check([=](const std::vector<Var>& v) { return triple_queries(model, v[0], v[1], inverse); },
              {numbers(6, 4), numbers(3, relation_width(model, 4))});
      }
    for (TripleScore score : kScores) {
      CAPTURE(static_cast<int>(score));
      check([=](const std::vector<Var>& v) { return paired_scores(score, v[0], v[1], 2); },
            {numbers(5, 6), numbers(5, 6)});
      check([=](const std::vector<Var>& v) { return entity_scores(score, v[0], v[1]); },
            {numbers(5, 6), numbers(7, 6)});
      // More entities than a chunk has, so that both passes go over several.
      const EntityTargets target = random_targets(3, 300, device);
      for (TripleLoss kind : values_of<TripleLoss>())
        check([=](const std::vector<Var>& v) { return entity_loss(kind, score, v[0], v[1], target); },
              {numbers(3, 2), numbers(300, 2)});
    }
    for (const DrawnLossRule& rule : {DrawnLossRule{}, DrawnLossRule{TripleLoss::bce, 1.5, 0.0}})
      for (const Tensor& weight : {Tensor(), random_tensor({2}, DType::f64, device)})
        check([=](const std::vector<Var>& v) { return drawn_loss(rule, v[0], v[1], weight); },
              {random_tensor({4}, DType::f64), numbers(4, 9)});
    for (int power : {2, 3})
      for (bool complex : {false, true})
        check([=](const std::vector<Var>& v) { return power_sum(v[0], power, complex, 0.3); },
              {numbers(5, 6)});
  });
}

TEST_CASE("drawn_loss: softmax and self-adversarial weights, by the definitions") {
  on_devices_and_floats([](Device device, DType dtype) {
    for (const auto& [rows, count] : {std::pair<int64_t, int64_t>{1, 1}, {9, 257}, {33, 40}}) {
      const Tensor y = random_tensor({rows}, dtype, device), n = random_tensor({rows, count}, dtype, device);
      const Numbers truth = values(y), drawn = values(n);
      const auto softplus = [](double x) { return std::log1p(std::exp(x)); };
      const auto sigmoid = [](double x) { return 1.0 / (1.0 + std::exp(-x)); };
      const Tensor of_queries = random_tensor({rows % 3 == 0 ? rows / 3 : rows}, dtype, device);
      for (const auto& [rule, weight] : {std::pair(DrawnLossRule{}, Tensor()),
                                         {DrawnLossRule{TripleLoss::bce, 2.0, 0.0}, Tensor()},
                                         {DrawnLossRule{TripleLoss::bce, 2.0, 0.7}, Tensor()},
                                         {DrawnLossRule{}, of_queries},
                                         {DrawnLossRule{TripleLoss::bce, 2.0, 0.7}, of_queries}}) {
        double loss = 0.0;
        Numbers dy(truth.size()), dn(drawn.size());
        const Numbers factors = weight ? values(weight) : Numbers{1.0};
        for (size_t i = 0; i < truth.size(); ++i) {
          const double share = factors[i % factors.size()] / static_cast<double>(rows);
          const double* x = drawn.data() + i * uz(count);
          double total = 0.0;
          const bool soft = rule.kind == TripleLoss::softmax;
          const double factor = soft ? 1.0 : rule.temperature;
          for (int64_t k = 0; k < count; ++k) total += std::exp(factor * x[k]);
          if (soft) total += std::exp(truth[i]);
          loss += share * (soft ? std::log(total) - truth[i] : softplus(-(2.0 + truth[i])));
          dy[i] = share * (soft ? std::exp(truth[i]) / total - 1.0 : -sigmoid(-(2.0 + truth[i])));
          for (int64_t k = 0; k < count; ++k) {
            const double part = std::exp(factor * x[k]) / total;
            if (!soft) loss += share * part * softplus(2.0 + x[k]);
            dn[i * uz(count) + uz(k)] = share * part * (soft ? 1.0 : sigmoid(2.0 + x[k]));
          }
        }
        const Var vy = Var::parameter(y), vn = Var::parameter(n), found = drawn_loss(rule, vy, vn, weight);
        found.backward();
        const double error = dtype == DType::f32 ? 1e-5 : 1e-12;
        CHECK(close(found.value(), Numbers{loss}, error));
        CHECK(close(vy.grad(), dy, error));
        CHECK(close(vn.grad(), dn, error));
      }
    }
  });
}

TEST_CASE("entity_loss over chunks is the loss over all scores, also of large ones") {
  on_devices_and_floats([](Device device, DType dtype) {
    for (const double scale : {1.0, 40.0})
      for (TripleLoss kind : values_of<TripleLoss>()) {
        CAPTURES(scale, name_of(kind));
        constexpr int64_t kQueries = 9, kEntities = 1500;
        const Tensor q = random_tensor({kQueries, 6}, dtype, device),
                     t = Tensor::from(
                             mapped(random_tensor({kEntities, 6}), [=](double x) { return scale * x; }),
                             Shape{kEntities, 6})
                             .to(dtype)
                             .to(device);
        const EntityTargets target = random_targets(kQueries, kEntities, device);
        const std::vector<int64_t> offsets = target.offsets.to_vector<int64_t>();
        const std::vector<int32_t> ids = target.ids.to_vector<int32_t>(),
                                   rows = target.rows.to_vector<int32_t>();
        double loss = 0.0;
        for (size_t i = 0; i < uz(kQueries); ++i) {
          Numbers scores;
          for (int64_t k = 0; k < kEntities; ++k)
            scores.push_back(plain_score(TripleScore::dot, row_of(q, static_cast<int64_t>(i)), row_of(t, k)));
          const double most = *std::max_element(scores.begin(), scores.end());
          double sum = 0.0, truth = 0.0;
          for (double s : scores)
            sum += kind == TripleLoss::softmax ? std::exp(s - most)
                                               : std::max(s, 0.0) + std::log1p(std::exp(-std::abs(s)));
          const auto first = uz(offsets[uz(rows[i])]), last = uz(offsets[uz(rows[i]) + 1]);
          for (size_t k = first; k < last; ++k) truth += scores[uz(ids[k])];
          loss += kind == TripleLoss::softmax
                      ? std::log(sum) + most - truth / static_cast<double>(last - first)
                      : sum - truth;
        }
        const Var found = entity_loss(kind, TripleScore::dot, Var(q), Var(t), target);
        CHECK(close(found.value(), Numbers{loss / kQueries}, dtype == DType::f32 ? 1e-5 : 1e-12));
      }
  });
}

TEST_CASE("scores, losses and their gradients have the same bits on any number of threads") {
  const Tensor q = random_tensor({200, 32}), t = random_tensor({7000, 32}), r = random_tensor({100, 16});
  const EntityTargets target = random_targets(200, 7000, {});
  for (TripleScore score : kScores)
    CHECK(same_bits_on_any_threads([&] {
      const Var x = Var::parameter(q), other = Var::parameter(t), relation = Var::parameter(r);
      const Var queries = triple_queries(TripleModel::rotate, x, relation, 100),
                same = triple_queries(TripleModel::rotate, x, relation, 100);
      const Var loss = entity_loss(TripleLoss::softmax, score, same, other, target),
                drawn = drawn_loss({}, paired_scores(score, queries, x, 100),
                                   entity_scores(score, queries, other)),
                norm = power_sum(other, 3, true, 0.1);
      loss.backward();
      Tensor first = other.grad().clone();
      drawn.backward();
      norm.backward();
      return std::vector{loss.value(), drawn.value(), norm.value(),   first,
                         x.grad(),     other.grad(),  relation.grad()};
    }));
}

TEST_CASE("entity_loss keeps no scores of all queries and entities") {
  for (Device device : devices()) {
    const Var q = Var::parameter(random_tensor({512, 8}, DType::f32, device)),
              t = Var::parameter(random_tensor({60000, 8}, DType::f32, device));
    const EntityTargets target = random_targets(512, 60000, device);
    const size_t peak = peak_memory(device, [&] {
      entity_loss(TripleLoss::softmax, TripleScore::dot, q, t, target).backward();
      Var(q).zero_grad(), Var(t).zero_grad();
    });
    CHECK(peak < size_t{512} * 60000 * 4 / 2);
  }
}

TEST_CASE("triple_batch goes through the order and on at its beginning, with entities in range") {
  Alike alike;  // the draws, on every device
  for (Device device : devices()) {
    const Tensor triples = Tensor::from<int32_t>({0, 0, 1, 1, 2, 2, 3, 1, 4, 4, 0, 0, 2, 2, 2}, Shape{5, 3})
                               .to(device),
                 order = Tensor::from<int32_t>({4, 2, 0, 1, 3}, device);
    Tensor position = Tensor::zeros({1}, DType::i64, device), number = Tensor::empty({2}, DType::i32, device),
           relation = Tensor::empty({2}, DType::i32, device),
           entity = Tensor::empty({1004}, DType::i32, device);
    Generator random(3);
    Tensor drawn = Tensor::empty({3, 1000}, DType::i32);
    const std::vector<std::vector<int32_t>> numbers{{4, 2}, {0, 1}, {3, 4}},
        relations{{2, 1}, {0, 2}, {0, 2}}, ends{{2, 3, 2, 4}, {0, 1, 1, 2}, {4, 2, 0, 2}};
    for (size_t k = 0; k < numbers.size(); ++k) {
      kernels::triple_batch({.triples = triples,
                             .order = order,
                             .entities = 5,
                             .key = random.next(),
                             .position = position,
                             .number = number,
                             .relation = relation,
                             .entity = entity});
      CHECK(number.to_vector<int32_t>() == numbers[k]);
      CHECK(relation.to_vector<int32_t>() == relations[k]);
      const std::vector<int32_t> found = entity.to_vector<int32_t>();
      CHECK(std::vector(found.begin(), found.begin() + 4) == ends[k]);
      std::vector<int> counts(5);
      for (size_t i = 4; i < found.size(); ++i) ++counts.at(uz(found[i]));
      for (int count : counts) CHECK((count > 140 && count < 260));  // 200 are expected, 13 the deviation
      drawn.rows(static_cast<int64_t>(k), static_cast<int64_t>(k) + 1)
          .copy_(entity.rows(4, 1004).reshape({1, 1000}));
    }
    alike(drawn);
  }
}

TEST_CASE("entity_ranks: filtered, with ties, NaN, and an entity that is not among the known") {
  on_devices_and_floats([](Device device, DType dtype) {
    const double nan = NAN;
    const Tensor y =
        tensor_of({5, 3, 3, 1, 3, 7, 2, 2, 2, 2, 2, 2, nan, 1, nan, 0, 4, 1}, {3, 6}, dtype, device);
    const auto ranks = [&](const std::vector<int32_t>& entity, const std::vector<int64_t>& offsets,
                           const std::vector<int32_t>& ids) {
      Tensor better = Tensor::empty({3}, DType::i32, device), ties = Tensor::empty({3}, DType::i32, device);
      const Tensor list = Tensor::from(ids, device), bounds = Tensor::from(offsets, device),
                   rows = Tensor::from<int32_t>({0, 1, 2}, device);
      kernels::entity_ranks({.y = y,
                             .entity = Tensor::from(entity, device),
                             .known = {bounds, list, rows},
                             .better = better,
                             .ties = ties});
      std::vector<int32_t> all = better.to_vector<int32_t>();
      for (int32_t tie : ties.to_vector<int32_t>()) all.push_back(tie);
      return all;
    };
    using Ranks = std::vector<int32_t>;
    CHECK(ranks({1, 0, 5}, {0, 0, 0, 0}, {}) == Ranks{2, 0, 3, 2, 5, 1});
    CHECK(ranks({1, 0, 5}, {0, 3, 5, 8}, {1, 2, 5, 0, 1, 0, 1, 5}) == Ranks{1, 0, 2, 1, 4, 0});
    CHECK(ranks({5, 3, 0}, {0, 1, 2, 3}, {0, 5, 0}) == Ranks{0, 0, 5, 0, 4, 0});  // NaN is the worst
  });
}

TEST_CASE("kernels of triples refuse what does not fit") {
  const Var q(random_tensor({4, 6})), odd(random_tensor({4, 5})), r(random_tensor({3, 6}));
  CHECK_ERROR_HAS(triple_queries(TripleModel::complex, odd, odd, 4), "expected an even width");
  CHECK_ERROR_HAS(triple_queries(TripleModel::distmult, q, r, 4), "expected a multiple of the 3 relations");
  CHECK_ERROR_HAS(entity_scores(TripleScore::modulus, odd, odd), "expected an even width");
  CHECK_THROWS_AS(entity_scores(TripleScore::l1, q, odd), Error);
  CHECK_THROWS_AS(power_sum(q, 4, false, 1.0), Error);
}
