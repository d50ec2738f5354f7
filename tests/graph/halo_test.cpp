#include "../structures.h"
#include <adjoint/autograd/edge.h>
#include <adjoint/graph/graph.h>
#include <adjoint/graph/ranks/rank_edges.h>
#include <adjoint/graph/ranks/rank_plan.h>
#include <adjoint/kernels/aggregate/spmm.h>
#include <adjoint/kernels/aggregate/spmm_plan.h>

#include <atomic>
#include <mutex>
#include <set>

using namespace adj;
using namespace adj::test;

namespace {

/// Square: rows of very different lengths, empty ones, loops and repeated entries.
HostCsr skewed_structure(int64_t n) {
  std::mt19937 random(static_cast<uint32_t>(n));
  return structure_of(n, n, [&](size_t i) {
    const size_t length = i % 7 == 3 ? 0 : i == static_cast<size_t>(n) / 2 ? uz(3 * n) : random() % 9;
    std::vector<int32_t> columns;
    for (size_t k = 0; k < length; ++k)
      columns.push_back(static_cast<int32_t>(random() % 3 == 0 ? i : random() % static_cast<uint32_t>(n)));
    return columns;
  });
}

/// Rows [begin, end) over all columns.
Csr rows_between(const HostCsr& whole, int64_t begin, int64_t end, Device device) {
  std::vector<int64_t> offsets;
  for (int64_t i = begin; i <= end; ++i) offsets.push_back(whole.offsets[uz(i)] - whole.offsets[uz(begin)]);
  const std::vector<int32_t> indices(whole.indices.begin() + whole.offsets[uz(begin)],
                                     whole.indices.begin() + whole.offsets[uz(end)]);
  return {end - begin, whole.csr.cols, Tensor::from(offsets, device), Tensor::from(indices, device)};
}

/// The columns that the rank's rows name, and all of a rank of whose 16 they name 15.
std::set<size_t> columns_of(const HostCsr& whole, const RowCut& cut, int64_t rank, int64_t ranks) {
  std::set<size_t> named, all;
  const auto [begin, end] = cut.rows_of(rank, ranks);
  whole.each([&, begin = begin, end = end](size_t i, size_t j, size_t) {
    if (static_cast<int64_t>(i) >= begin && static_cast<int64_t>(i) < end) named.insert(j);
  });
  for (int64_t other = 0; other < ranks; ++other) {
    const auto [first, last] = cut.rows_of(other, ranks);
    const auto lower = named.lower_bound(uz(first)), upper = named.lower_bound(uz(last));
    if (other == rank || 16 * std::distance(lower, upper) >= 15 * (last - first))
      for (int64_t j = first; j < last; ++j) all.insert(uz(j));
    all.insert(lower, upper);
  }
  return all;
}

Tensor product(const Csr& csr, const Tensor& x) {
  Tensor y = Tensor::empty({csr.rows, x.size(1)}, x.dtype(), x.device());
  kernels::spmm({.a = {csr, {}, {}}, .x = x, .y = y});
  return y;
}

/// Ranks that share the device, and two GPUs, which exchange through NCCL.
std::vector<std::vector<Device>> rooms_on(Device device) {
  std::vector<std::vector<Device>> rooms;
  for (const size_t ranks : {1, 2, 3, 8}) rooms.emplace_back(ranks, device);
  if (device.is_cuda() && cuda_device_count() > 1) rooms.push_back({Device::cuda(0), Device::cuda(1)});
  return rooms;
}

}  // namespace

TEST_CASE("rows are cut into consecutive parts of about as many entries, whose ranks' rows are all rows") {
  for (const int64_t n : {0, 1, 40, 3000}) {
    const HostCsr host = skewed_structure(n);
    const RowCut cut(host.csr.offsets);
    CHECK(cut.parts() == 64);
    CHECK(cut.rows() == n);
    double longest = 0;  // of rows that stay together
    for (int64_t i = 0; i < n; i += RowCut::kAligned) {
      double length = 0;
      for (int64_t k = i; k < std::min(i + RowCut::kAligned, n); ++k) length += host.length(uz(k));
      longest = std::max(longest, length);
    }
    for (size_t k = 0; k < 64; ++k) {
      const auto begin = uz(cut.begins()[k]), end = uz(cut.begins()[k + 1]);
      REQUIRE(begin <= end);
      CHECK((end % RowCut::kAligned == 0 || end == uz(n)));
      // Each border is half of such rows at most from where it should be.
      CHECK(static_cast<double>(host.offsets[end] - host.offsets[begin]) <=
            static_cast<double>(host.offsets.back()) / 64 + longest + 1);
    }
    for (const int64_t ranks : {1, 2, 3, 5, 64}) {
      int64_t next = 0;
      for (int64_t rank = 0; rank < ranks; ++rank) {
        const auto [begin, end] = cut.rows_of(rank, ranks);
        CHECK(begin == next);
        next = end;
      }
      CHECK(next == n);
    }
  }
  std::vector<int64_t> tens, first_long{0, 900};
  for (int64_t k = 0; k <= 64; ++k) tens.push_back(10 * k);
  for (int64_t k = 1; k < 24; ++k) first_long.push_back(900 + 10 * k);
  const Tensor even = Tensor::from(tens);
  CHECK(RowCut(even, 4).begins() == std::vector<int64_t>{0, 16, 32, 48, 64});
  CHECK(RowCut(even, 3).begins() == std::vector<int64_t>{0, 24, 40, 64});
  CHECK(RowCut(Tensor::from(first_long), 2).begins() == std::vector<int64_t>{0, 0, 24});
  CHECK(RowCut({0, 2, 2, 5}).rows_of(1, 3) == std::pair<int64_t, int64_t>{2, 2});
  CHECK_ERROR_HAS(RowCut({0, 2, 1}), "that ascend from 0");
  CHECK_ERROR_HAS(RowCut(even, 0), "0 parts, expected 1 or more");
  CHECK_ERROR_HAS((void)RowCut(even, 4).rows_of(0, 5), "rank 0 of 5, expected at most 4 ranks");
}

TEST_CASE("products of cut rows have the bits of one rank, for any number of ranks and either direction") {
  for (const int64_t n : {1, 40, 500}) {
    const HostCsr whole = skewed_structure(n);
    for (const DType dtype : {DType::f32, DType::bf16, DType::f64})
      for (const Device device : devices()) {
        const Tensor x = random_tensor({n, 12}, dtype, device);
        const Tensor wanted = product(whole.csr.to(device), x);
        const Numbers rows = values(x);
        const RowCut cut(whole.csr.offsets);
        for (const int64_t ranks : {1, 2, 3, 8, 64}) {
          CAPTURES(n, name_of(dtype), ranks);
          std::atomic<int64_t> right = 0, sent = 0, received = 0;
          run_ranks(ranks, [&](const Group& group) {
            const auto [begin, end] = cut.rows_of(group.rank(), ranks);
            const Csr part = rows_between(whole, begin, end, device);
            const Halo halo(group, cut, part);
            const Tensor all = halo.gather(x.rows(begin, end).clone());
            Numbers named;
            for (const size_t j : columns_of(whole, cut, group.rank(), ranks))
              named.insert(named.end(), &rows[j * 12], &rows[j * 12] + 12);
            // What decides the order of sums on a GPU.
            right += kernels::spmm_item_size(halo.structure(), 1) == kernels::spmm_item_size(whole.csr, 1);
            const Tensor y = group.gather(product(halo.structure(), all));
            right += values(all) == named && same_bits(y, wanted);
            sent += halo.sent_rows();
            received += halo.received_rows();
          });
          CHECK(right == 2 * ranks);
          CHECK(sent == received);
          CHECK((ranks > 1 && n > 1) == (sent > 0));
        }
      }
  }
}

TEST_CASE("rows come in parts of their columns, each once and in order, with the same bits") {
  // The rows of the second name nearly all columns: ranks send whole blocks.
  const HostCsr structures[] = {skewed_structure(500), structure_of(500, 500, [](size_t i) {
                                  std::vector<int32_t> columns;
                                  for (size_t j = i % 2; j < 500; j += 2)
                                    columns.push_back(static_cast<int32_t>(j));
                                  return columns;
                                })};
  // At widths whose products a GPU takes as large ones: only those are cut.
  const auto check_width = [&](const Group& group, const HostCsr& whole, DType dtype, DType wire,
                               int64_t width) {
    const RowCut cut(whole.csr.offsets);
    CAPTURES(group.size(), name_of(dtype), name_of(wire), width);
    const auto [begin, end] = cut.rows_of(group.rank(), group.size());
    const Csr rows = rows_between(whole, begin, end, group.device());
    const Halo halo(group, cut, rows, wire);
    const Tensor x = random_tensor({end - begin, width}, dtype, group.device());
    Tensor wanted = Tensor::empty({end - begin, width}, dtype, group.device());
    kernels::spmm({.a = {halo.structure(), {}, {}}, .x = halo.gather(x), .y = wanted});
    int64_t parts = 0;
    for (const int64_t least : {int64_t{0}, Halo::kLeastPart}) {
      Tensor y = Tensor::full(wanted.shape(), NAN, dtype, group.device());
      int64_t next = 0;
      parts = 0;
      const auto multiply = [&](const GatheredPart& part) {
        CHECK(part.first == next);
        next += part.rows.size(1);
        ++parts;
        kernels::spmm({.a = {halo.structure(), {}, {}},
                       .x = part.rows,
                       .y = y,
                       .first_column = part.first,
                       .local = part.local,
                       .local_row = part.local_row});
      };
      Halo(group, cut, rows, wire, least).gather_parts(x, multiply);
      CHECK(next == width);
      CHECK(same_bits(y, wanted));
      const int64_t bytes = width * static_cast<int64_t>(size_of(dtype));
      CHECK((parts > 1) == (least == 0 && group.size() > 1 && bytes >= 128));
      if (parts > 1 && width == 256) CHECK(parts == (dtype == DType::f32 ? 4 : dtype == DType::bf16 ? 3 : 6));
    }
  };
  for (const Device device : devices())
    for (const std::vector<Device>& room : rooms_on(device))
      run_ranks(room, [&](const Group& group) {
        for (const DType dtype : {DType::f32, DType::bf16, DType::f64})
          for (const DType wire : {DType::f32, DType::bf16})
            for (const int64_t width : {0, 1, 2, 33, 47, 100, 256, 700})
              for (const HostCsr& whole : structures)
                if (!kSanitized || width % 2 != 0 || width == 256)
                  check_width(group, whole, dtype, wire, width);
      });
}

TEST_CASE("rows of others are rounded to bfloat16 on that wire, both ways, and a rank's own are not") {
  const HostCsr whole = skewed_structure(500);
  const RowCut cut(whole.csr.offsets);
  for (const Device device : devices()) {
    const Tensor x = random_tensor({500, 12}, DType::f32, device);
    const Numbers rows = values(x), rounded = values(x.to(DType::bf16));
    REQUIRE(rows != rounded);
    std::vector<std::set<size_t>> fetched(3);  // by rank
    for (size_t rank = 0; rank < 3; ++rank) {
      fetched[rank] = columns_of(whole, cut, static_cast<int64_t>(rank), 3);
      const auto [begin, end] = cut.rows_of(static_cast<int64_t>(rank), 3);
      for (int64_t j = begin; j < end; ++j) fetched[rank].erase(uz(j));
    }
    std::atomic<int> right = 0;
    run_ranks(3, [&](const Group& group) {
      const auto rank = uz(group.rank());
      const auto [begin, end] = cut.rows_of(group.rank(), 3);
      const Halo halo(group, cut, rows_between(whole, begin, end, device), DType::bf16);
      std::set<size_t> names = fetched[rank];
      for (int64_t i = begin; i < end; ++i) names.insert(uz(i));
      Numbers wanted;
      for (const size_t j : names) {
        const Numbers& source = fetched[rank].contains(j) ? rounded : rows;
        wanted.insert(wanted.end(), &source[j * 12], &source[j * 12] + 12);
      }
      const Tensor all = halo.gather(x.rows(begin, end).clone());
      right += all.dtype() == DType::f32 && values(all) == wanted;
      // Back come x[j] from this rank, and the same rounded from each that fetched j; in the order of ranks.
      Numbers sums;
      for (int64_t i = begin; i < end; ++i)
        for (size_t c = 0; c < 12; ++c) {
          float sum = 0;
          for (size_t p = 0; p < 3; ++p)
            if (p == rank || fetched[p].contains(uz(i)))
              sum += static_cast<float>((p == rank ? rows : rounded)[uz(i) * 12 + c]);
          sums.push_back(sum);
        }
      right += close(halo.sum_back(all), sums, 1e-6);
    });
    CHECK(right == 6);
    CHECK(fetched[0].size() + fetched[1].size() + fetched[2].size() > 100);
  }
  run_ranks(2, [&](const Group& group) {
    const auto [begin, end] = cut.rows_of(group.rank(), 2);
    CHECK_ERROR_HAS(Halo(group, cut, rows_between(whole, begin, end, {}), DType::f64), "float32 or bfloat16");
  });
}

TEST_CASE("a halo's sizes are checked on all ranks") {
  const HostCsr whole = skewed_structure(40);
  const RowCut cut(whole.csr.offsets);
  CHECK_ERROR_HAS(Halo(Group(), cut, rows_between(whole, 0, 39, {})),
                  "Halo: 39 rows of 40 columns, expected 40");
  CHECK_ERROR_HAS(run_ranks(2,
                            [&](const Group& group) {
                              const auto [begin, end] = cut.rows_of(group.rank(), 2);
                              const Halo halo(group, cut, rows_between(whole, begin, end, {}));
                              (void)halo.gather(Tensor::zeros({end - begin + 1, 3}));
                            }),
                  "Halo: x is [");
}

TEST_CASE("sums over a cut graph and their gradients have the bits of one rank") {
  std::mt19937 random(5);
  for (const bool weighted : {false, true})
    for (const int64_t n : {1, 60, 400}) {
      std::vector<int32_t> src, dst;
      std::vector<float> weight;
      for (int64_t e = 0; e < 9 * n; ++e) {  // a hub, loops, repeated edges, nodes without any
        src.push_back(static_cast<int32_t>(e % 3 == 0 ? n / 2 : static_cast<int64_t>(random()) % n));
        dst.push_back(
            static_cast<int32_t>(e % 5 == 0 ? n / 2 : 7 * (static_cast<int64_t>(random()) % n) / 8));
        weight.push_back(0.25f * static_cast<float>(random() % 8 + 1));
      }
      const Graph whole = Graph::from_coo(n, Tensor::from(src), Tensor::from(dst),
                                          weighted ? Tensor::from(weight) : Tensor());
      for (const Device device : devices())
        for (const DType dtype : {DType::f32, DType::bf16, DType::f64})
          for (const PropagationMatrix kind :
               {PropagationMatrix::sum, PropagationMatrix::mean, PropagationMatrix::gcn}) {
            // So wide that rows may come in parts, which is no matter of a GPU's small products.
            const Tensor x = random_tensor({n, 70}, dtype, device),
                         dy = random_tensor({n, 70}, dtype, device),
                         shift = random_tensor({70}, dtype, Device::cpu());
            const Graph all = whole.to(device);
            const auto step = [&](const Graph& graph, const Tensor& rows, const Tensor& gradient) {
              const Var input = Var::parameter(rows), bias = Var::parameter(shift.to(rows.device()));
              const Var y = aggregate(graph.matrix(kind), input, bias, Activation::relu);
              y.backward(gradient);
              return std::pair(y.value(), input.grad());
            };
            const auto [y, dx] = step(all, x, dy);
            // On the host: a copy from another rank's GPU would wait for its exchange, and that for this
            // rank.
            const Tensor x_there = x.to(Device::cpu()), dy_there = dy.to(Device::cpu()),
                         y_there = y.to(Device::cpu()), dx_there = dx.to(Device::cpu());
            for (const std::vector<Device>& room : rooms_on(device)) {
              const int64_t ranks = std::ssize(room);
              if (ranks == 2 && room[0] != room[1] && n < 400) continue;  // NCCL takes a second to begin
              CAPTURES(weighted, n, name_of(dtype), static_cast<int>(kind), ranks);
              std::atomic<int64_t> right = 0;
              run_ranks(room, [&](const Group& group) {
                for (const int64_t least_part : {int64_t{0}, Halo::kLeastPart}) {
                  const RankRows rank{
                      .group = group, .cut = RowCut(whole.in_edges().offsets), .least_part = least_part};
                  const auto rows = [&](const Tensor& t) {
                    return t.rows(rank.begin(), rank.end()).clone().to(group.device());
                  };
                  const auto [part, gradient] = step(whole.rank_rows(rank), rows(x_there), rows(dy_there));
                  right += same_bits(group.gather(part).to(Device::cpu()), y_there) &&
                           same_bits(group.gather(gradient).to(Device::cpu()), dx_there);
                }
              });
              CHECK(right == 2 * ranks);
            }
          }
    }
}

TEST_CASE("a plan has the largest nodes, edges and halo of the ranks") {
  for (const int64_t n : {1, 40, 500, 3000}) {
    const HostCsr host = skewed_structure(n);
    const Graph graph(Relation::from_csr(host.csr));
    const std::vector<RankPlan> plans = plan_ranks(graph, {1, 2, 3, 8, 64});
    for (const RankPlan& plan : plans) {
      CAPTURES(n, plan.ranks);
      std::mutex mutex;
      int64_t nodes = 0, edges = 0, halo = 0;
      const RowCut cut(host.csr.offsets);
      run_ranks(plan.ranks, [&](const Group& group) {
        const auto [begin, end] = cut.rows_of(group.rank(), plan.ranks);
        const Csr part = rows_between(host, begin, end, {});
        const int64_t received = Halo(group, cut, part).received_rows();
        const std::lock_guard lock(mutex);
        nodes = std::max(nodes, part.rows), edges = std::max(edges, part.entries()),
        halo = std::max(halo, received);
      });
      CHECK(plan.nodes == nodes);
      CHECK(plan.edges == edges);
      CHECK(plan.halo == halo);
      CHECK(plan.excess ==
            doctest::Approx(
                static_cast<double>(edges * plan.ranks) / std::max(host.offsets.back(), int64_t{1}) - 1));
    }
  }
}

TEST_CASE("a rank's part of a graph keeps to what it can answer") {
  const Tensor ids = Tensor::from(std::vector<int32_t>{0, 1, 2, 3}),
               next = Tensor::from(std::vector<int32_t>{1, 2, 3, 3});
  const Graph whole = Graph::from_coo(4, ids, next, Tensor::from(std::vector<float>{1, 2, 3, 4}),
                                      {{"size", Tensor::from(std::vector<float>{5, 6, 7, 8})}});
  run_ranks(2, [&](const Group& group) {
    const RankRows rank{group, RowCut({0, 2, 4})};
    const Graph part = whole.rank_rows(rank);
    const bool second = group.rank() == 1;
    CHECK(part.num_nodes() == 2);
    CHECK(part.num_edges() == (second ? 3 : 1));
    CHECK(values(part.edge_weight()) == (second ? Numbers{2, 3, 4} : Numbers{1}));
    CHECK(values(part.edge_attr("size")) == (second ? Numbers{6, 7, 8} : Numbers{5}));
    CHECK(values(part.in_degrees()) == (second ? Numbers{1, 2} : Numbers{0, 1}));
    CHECK(values(part.out_degrees()) == Numbers{1, 1});
    CHECK(part.has_self_loops());
    CHECK(!part.is_symmetric());
    CHECK_ERROR_HAS((void)part.edge_index(), "name nodes of other ranks");
    CHECK_ERROR_HAS((void)part.with_edge_weight({}), "before the graph is cut");
    CHECK_ERROR_HAS((void)part.rank_rows(rank), "expected the whole graph");
    CHECK_ERROR_HAS((void)part.relation().adjoint(part.edge_weight()), "not those of its transpose");
    CHECK_ERROR_HAS((void)whole.rank_rows({group, RowCut({0, 2, 5})}), "expected 5 of both");
  });
}
