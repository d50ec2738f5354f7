#include "op.h"
#include <adjoint/kernels/norm/norm.h>

#include <cmath>

namespace adj::ops {

namespace {

using kernels::Epilogue;

Sizes sizes(bool empty) {
  Sizes list{{1, 1},  {2, 3},   {1, 100},   {2708, 16}, {1001, 7},
             {9, 64}, {50, 65}, {700, 257}, {5003, 33}, {20011, 20}};
  if (empty) list.push_back({0, 5});
  return list;
}

/// Of sums over all rows, whose terms cancel.
double row_sum_tolerance(const Call& c) { return c.dtype == DType::f32 ? 1e-5 : c.tolerance(); }

Op layer_norm() {
  return {"layer_norm", sizes(true),
          [](Call& c) {
            kernels::layer_norm({.x = c.in("x"),
                                 .gamma = c.in("gamma", {c.size[1]}),
                                 .beta = c.in("beta", {c.size[1]}),
                                 .eps = 1e-3,
                                 .mean = c.out("mean", {c.size[0]}, c.accumulator()),
                                 .rstd = c.out("rstd", {c.size[0]}, c.accumulator()),
                                 .y = c.out("y").allow(2 * c.tolerance())});
          },
          [](Plain& p) {
            const auto width = uz(p.size(1));
            const auto n = static_cast<double>(width);
            Numbers &y = p["y"], &gamma = p["gamma"], &beta = p["beta"];
            for (size_t i = 0; i < p["mean"].size(); ++i) {
              const double* x = p["x"].data() + i * width;
              double mean = 0.0, variance = 0.0;
              for (size_t f = 0; f < width; ++f) mean += x[f] / n;
              for (size_t f = 0; f < width; ++f) variance += std::pow(x[f] - mean, 2) / n;
              p["mean"][i] = mean;
              p["rstd"][i] = 1 / std::sqrt(variance + 1e-3);
              for (size_t f = 0; f < width; ++f)
                y[i * width + f] = (x[f] - mean) * p["rstd"][i] * gamma[f] + beta[f];
            }
          }};
}

/// With any mean and rstd.
Op layer_norm_backward() {
  return {"layer_norm_backward", sizes(true),
          [](Call& c) {
            kernels::layer_norm_backward({.x = c.in("x"),
                                          .mean = c.in("mean", {c.size[0]}, c.accumulator()),
                                          .rstd = c.in("rstd", {c.size[0]}, c.accumulator()),
                                          .gamma = c.in("gamma", {c.size[1]}),
                                          .dy = c.in("dy"),
                                          .dx = c.out("dx").over("dy"),
                                          .dgamma = c.out("dgamma", {c.size[1]}).allow(row_sum_tolerance(c)),
                                          .dbeta = c.out("dbeta", {c.size[1]}).allow(row_sum_tolerance(c))});
          },
          [](Plain& p) {
            const auto width = uz(p.size(1));
            const Numbers &x = p["x"], &dy = p["dy"], &gamma = p["gamma"];
            Numbers &dx = p["dx"], &dgamma = p["dgamma"], &dbeta = p["dbeta"];
            for (size_t i = 0; i < p["mean"].size(); ++i) {
              double direct = 0.0, along = 0.0;
              const double rstd = p["rstd"][i], mean = p["mean"][i];
              const auto normal = [&](size_t f) { return (x[i * width + f] - mean) * rstd; };
              for (size_t f = 0; f < width; ++f) {
                const double grad = dy[i * width + f];
                direct += grad * gamma[f] / static_cast<double>(width);
                along += grad * gamma[f] * normal(f) / static_cast<double>(width);
                dgamma[f] += grad * normal(f);
                dbeta[f] += grad;
              }
              for (size_t f = 0; f < width; ++f)
                dx[i * width + f] = rstd * (dy[i * width + f] * gamma[f] - direct - normal(f) * along);
            }
          }};
}

Op l2_normalize_rows() {
  return {
      "l2_normalize_rows", sizes(true),
      [](Call& c) {
        Tensor& x = c.in("x", [&] {
          Tensor drawn = c.normal(c.shape());
          if (c.size[0] > 1) drawn.rows(1, 2).zero_();
          return drawn;
        });
        kernels::l2_normalize_rows(
            {.x = x, .eps = 1e-12, .scale = c.out("scale", {c.size[0]}, c.accumulator()), .y = c.out("y")});
      },
      [](Plain& p) {
        const auto width = uz(p.size(1));
        const Numbers& x = p["x"];
        Numbers &y = p["y"], &scale = p["scale"];
        for (size_t i = 0; i < x.size(); ++i) scale[i / width] += x[i] * x[i];
        for (double& s : scale) s = 1 / std::max(std::sqrt(s), 1e-12);
        for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] * scale[i / width];
      }};
}

/// With any y and scale, some of which are those of short rows.
Op l2_normalize_rows_backward() {
  return {"l2_normalize_rows_backward", sizes(true),
          [](Call& c) {
            kernels::l2_normalize_rows_backward({.y = c.in("y"),
                                                 .eps = 1.0,
                                                 .scale = c.in("scale", {c.size[0]}, c.accumulator()),
                                                 .dy = c.in("dy"),
                                                 .dx = c.out("dx").over("dy")});
          },
          [](Plain& p) {
            const auto width = uz(p.size(1));
            const Numbers &y = p["y"], &dy = p["dy"], &scale = p["scale"];
            Numbers &dx = p["dx"], along(scale.size());
            for (size_t i = 0; i < y.size(); ++i)
              along[i / width] += scale[i / width] < 1.0 ? dy[i] * y[i] : 0.0;
            for (size_t i = 0; i < y.size(); ++i)
              dx[i] = scale[i / width] * (dy[i] - along[i / width] * y[i]);
          }};
}

/// Of rows of positive and of negative numbers, whose sums do not cancel.
Op sum_normalize_rows() {
  return {"sum_normalize_rows", sizes(true),
          [](Call& c) {
            const auto of_one_sign = [&] {
              Numbers x = values(c.normal(c.shape()));
              for (size_t i = 0; i < x.size(); ++i)
                x[i] = (std::abs(x[i]) + 0.01) * (i / uz(c.size[1]) % 2 == 0 ? 1.0 : -1.0);
              return c.tensor(x, c.shape());
            };
            kernels::sum_normalize_rows({.x = c.in("x", of_one_sign), .y = c.out("y").over("x")});
          },
          [](Plain& p) {
            const auto width = uz(p.size(1));
            const Numbers& x = p["x"];
            Numbers &y = p["y"], sum(uz(p.size(0)));
            for (size_t i = 0; i < x.size(); ++i) sum[i / width] += x[i];
            for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] / sum[i / width];
          }};
}

/// Normal numbers that are not at relu's kink, where rounding would decide.
struct Normalized {
  const Tensor &mean, &rstd, &gamma, &beta, &x;

  explicit Normalized(Call& c)
      : mean(c.in("mean", {c.size[1]}, c.accumulator())),
        rstd(c.in("rstd", {c.size[1]}, c.accumulator())),
        gamma(c.in("gamma", {c.size[1]})),
        beta(c.in("beta", {c.size[1]})),
        x(c.in("x", [&] {
          Numbers all = values(c.normal(c.shape()));
          const Numbers m = values(mean), b = values(beta),
                        factor = zipped(values(rstd), values(gamma), std::multiplies());
          for (size_t i = 0; i < all.size(); ++i) {
            const size_t f = i % m.size();
            const double z = (all[i] - m[f]) * factor[f] + b[f];
            if (std::abs(z) < 1e-4) all[i] += std::copysign(1e-3, z) / factor[f];
          }
          return c.tensor(all, c.shape());
        })) {}
};

}  // namespace

Op batch_norm_statistics(bool running) {
  return {"batch_norm_statistics", sizes(false),
          [running](Call& c) {
            const auto column = [&](const char* name) -> Operand& {
              return c.out(name, {c.size[1]}, c.accumulator());
            };
            Tensor running_mean, running_var;
            if (running) {
              running_mean = column("running_mean"), running_var = column("running_var");
              running_mean.fill_(0.5), running_var.fill_(2.0);
            }
            kernels::batch_norm_statistics({.x = c.in("x"),
                                            .eps = 1e-5,
                                            .momentum = 0.1,
                                            .mean = column("mean"),
                                            .rstd = column("rstd"),
                                            .running_mean = running_mean,
                                            .running_var = running_var});
          },
          [running](Plain& p) {
            const auto rows = static_cast<double>(p.size(0));
            const auto columns = uz(p.size(1));
            const Numbers& x = p["x"];
            for (size_t f = 0; f < columns; ++f) {
              double mean = 0.0, squares = 0.0;
              for (size_t i = f; i < x.size(); i += columns) mean += x[i] / rows;
              for (size_t i = f; i < x.size(); i += columns) squares += std::pow(x[i] - mean, 2);
              p["mean"][f] = mean;
              p["rstd"][f] = 1 / std::sqrt(squares / rows + 1e-5);
              if (!running) continue;
              p["running_mean"][f] = 0.9 * 0.5 + 0.1 * mean;
              p["running_var"][f] = 0.9 * 2.0 + 0.1 * squares / std::max(rows - 1, 1.0);
            }
          }};
}

Op batch_norm(const Epilogue& epilogue) {
  return {fmt::format("batch_norm with {}, {}", name_of(epilogue.activation), epilogue.dropout), sizes(true),
          [=](Call& c) {
            const Normalized n(c);
            kernels::batch_norm_apply({.x = n.x,
                                       .mean = n.mean,
                                       .rstd = n.rstd,
                                       .gamma = n.gamma,
                                       .beta = n.beta,
                                       .epilogue = epilogue,
                                       .y = c.out("y").over("x")});
          },
          [=](Plain& p) {
            const Numbers &x = p["x"], &mean = p["mean"], &rstd = p["rstd"], &gamma = p["gamma"],
                          &beta = p["beta"];
            const Numbers mask =
                dropout_mask(x.size(), epilogue.key, epilogue.dropout ? epilogue.rule : DropoutRule());
            const auto width = uz(p.size(1));
            const auto rows = static_cast<double>(p.size(0));
            Numbers &y = p["y"], &dy = p["dy"], &dx = p["dx"], &product = p["dgamma"], &sum = p["dbeta"],
                    normal(x.size());
            for (size_t i = 0; i < x.size(); ++i) {
              const size_t f = i % width;
              normal[i] = (x[i] - mean[f]) * rstd[f];
              const double z = normal[i] * gamma[f] + beta[f];
              y[i] = mask[i] * activated(epilogue.activation, z, 0.0);
              dx[i] = dy[i] * mask[i];
              if (epilogue.activation == Activation::relu && z <= 0.0) dx[i] = 0;
              if (epilogue.activation == Activation::elu && z <= 0.0) dx[i] *= std::exp(z);
              sum[f] += dx[i];
              product[f] += dx[i] * normal[i];
            }
            for (size_t i = 0; i < x.size(); ++i) {
              const size_t f = i % width;
              dx[i] = gamma[f] * rstd[f] * (dx[i] - sum[f] / rows - normal[i] * product[f] / rows);
            }
          },
          [=](Call& c) {
            const Normalized n(c);
            kernels::batch_norm_backward({.x = n.x,
                                          .mean = n.mean,
                                          .rstd = n.rstd,
                                          .gamma = n.gamma,
                                          .beta = n.beta,
                                          .epilogue = epilogue,
                                          .of_batch = c.size[0] > 0,  // which needs a row
                                          .dy = c.in("dy"),
                                          .dx = c.out("dx").over("dy"),
                                          .dgamma = c.out("dgamma", {c.size[1]}).allow(row_sum_tolerance(c)),
                                          .dbeta = c.out("dbeta", {c.size[1]}).allow(row_sum_tolerance(c))});
          }};
}

Ops norms() {
  Ops ops{layer_norm(),
          layer_norm_backward(),
          l2_normalize_rows(),
          l2_normalize_rows_backward(),
          sum_normalize_rows(),
          batch_norm_statistics(true),
          batch_norm_statistics(false)};
  for (Activation activation : {Activation::none, Activation::relu, Activation::elu})
    for (bool dropout : {false, true})
      ops.push_back(batch_norm({activation, dropout, dropout_rule(0.4f), {11, 12, nullptr}}));
  return ops;
}

}  // namespace adj::ops
