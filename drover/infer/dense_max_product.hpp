// Max-product for many problems that differ only in their unaries, on densely joined binary variables: a
// complete Boltzmann machine (Ising) or the two layers of an RBM.
//
// Source: Lazaro-Gredilla, Dedieu and George, Perturb-and-max-product, NeurIPS 2021, appendix C.
//
//   log p~(x) = sum_i b_i x_i + sum_(i,j) w_ij x_i x_j,   x in {0, 1}, every pair once
//   n_ij <- damping n_ij + (1 - damping) ( max(0, P_ij + w_ij) - max(0, P_ij) )
//   P_ij = B_i - n_ji,   B_i = b_i + sum_k n_ki,   x_i = [B_i >= 0]            (flooding, from n = 0)
//
// Both messages of a pair read only each other and the two sums B, so a sweep is one pass in place over rows
// of pairs: row i holds the pairs (i, j) of consecutive j, vectorised over j. Problem after problem: the
// messages of one (3 MB for 900 variables) stay near, those of several at once do not. Threads over problems;
// results do not depend on their number.
//
// Messages are kept by the caller (8 bytes per pair and problem), so that a later call can start from them:
// persistent PMP and learning do.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/compile/table_graph.hpp"
#include "drover/core/run_control.hpp"

namespace drover {

struct BatchOptions {
  std::uint32_t iterations = 100;
  float damping = 0.5f;                       ///< share of the old message that is kept
  const RunControl* control = &no_control();  ///< its end leaves the states as they are then
};

/// The messages of a number of problems; made and understood by the solver that fills it.
struct BatchMessages {
  std::size_t problems = 0;  ///< 0: none yet, start from zeros
  AlignedFloats values;
};

class DenseMaxProduct {
 public:
  /// All pairs i < j of `variables`.
  static DenseMaxProduct complete(std::uint32_t variables);
  /// All pairs of one visible and one hidden variable; visible ones are numbered first.
  static DenseMaxProduct bipartite(std::uint32_t visible, std::uint32_t hidden);

  std::size_t size() const { return bias_.size(); }
  std::size_t pair_count() const;

  /// complete: a symmetric matrix, row-major (its diagonal is not read); bipartite: visible rows, hidden
  /// columns.
  void set_weights(std::span<const float> weights);
  void set_bias(std::span<const float> bias);

  /// Solves problems whose biases are b + extra: row p of `extra` (size() numbers) belongs to problem p, and
  /// so does row p of `states`. With `messages`, starts from those of the last call and leaves the new ones.
  void solve(std::span<const float> extra, std::size_t problems, const BatchOptions& options,
             std::span<std::uint8_t> states, BatchMessages* messages = nullptr) const;

 private:
  struct Row {
    std::uint32_t variable;
    std::uint32_t column_begin, column_count;  // variables column_begin, column_begin + 1, ...
    std::size_t offset;                        // of its weights; its messages are at twice that
  };
  void add_row(std::uint32_t variable, std::uint32_t column_begin, std::uint32_t column_count);
  void solve_one(const float* extra, const BatchOptions& options, std::uint8_t* states,
                 float* messages) const;

  bool bipartite_ = false;
  std::vector<Row> rows_;
  AlignedFloats weights_;
  std::vector<float> bias_;
};

}  // namespace drover
