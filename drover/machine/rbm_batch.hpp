// What learning a restricted Boltzmann machine does many times over, for a batch of rows at once.
//
//   p(h_j = 1 | v) = sigma(bias_j + sum_i w_ij v_i),    p(v_i = 1 | h) likewise       (block Gibbs)
//   gradient_ij += v_i h_j                                                            (statistics)
//
// States are zeros and ones, mostly zeros, so a product with the weights is a sum of the rows of those units
// that are on (and a statistic is a sum over the rows of the batch in which its unit is on): several times
// less work than a dense product; where about half are on, tables of the sums of every four rows halve the
// work again. The weights are kept twice, by visible and by hidden unit, with rows padded
// to whole vectors; columns are taken in blocks that stay in the nearest caches while all rows of the batch
// pass.
//
// Sums are in float, in a fixed order: the bits do not depend on the number of threads. Several ranks share
// the columns, 128 at a time: each works out the fields, draws and sums of its own units over all rows, and
// tells the others what it drew. So the bits do not depend on the number of ranks either.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "drover/core/aligned.hpp"
#include "drover/core/random.hpp"
#include "drover/core/ranks.hpp"
#include "drover/machine/machine_statistics.hpp"
#include "drover/model/binary_machine.hpp"

namespace drover {

/// For every row the units that are on, ascending.
struct ActiveUnits {
  std::size_t units = 0;            ///< per row, on or off
  std::vector<std::uint32_t> list;  ///< row r: list[r * units .. r * units + count[r])
  std::vector<std::uint32_t> count;

  void resize(std::size_t rows, std::size_t unit_count) {
    units = unit_count;
    list.resize(rows * unit_count + 64);  // a whole vector may be stored at the end
    count.resize(rows);
  }
  template <class Archive>
  void visit(Archive& archive) {
    archive(units);
    archive(list);
    archive(count);
  }
  std::size_t rows() const { return count.size(); }
  std::span<const std::uint32_t> row(std::size_t r) const { return {list.data() + r * units, count[r]}; }
};

class RbmBatch {
 public:
  explicit RbmBatch(const BinaryMachine& machine, const Ranks& ranks = one_process());

  /// Takes over the machine's weights and biases.
  void set_parameters(const BinaryMachine& machine);

  std::size_t visible() const { return visible_; }
  std::size_t hidden() const { return hidden_; }

  /// p(h | v) of every row, of this rank's hidden units: rows padded to whole vectors.
  void hidden_probabilities(const ActiveUnits& v, AlignedVector<float>& probabilities) const;
  /// The same, and draws h by them: as draw_hidden, with one product with the weights less.
  void hidden_probabilities(const ActiveUnits& v, AlignedVector<float>& probabilities, std::uint64_t seed,
                            std::uint32_t first_row, std::uint64_t sweep, ActiveUnits& h) const;
  /// Draws h given v, or v given h; row r uses the random numbers of (seed, chain first_row + r, sweep).
  void draw_hidden(const ActiveUnits& v, std::uint64_t seed, std::uint32_t first_row, std::uint64_t sweep,
                   ActiveUnits& h) const;
  void draw_visible(const ActiveUnits& h, std::uint64_t seed, std::uint32_t first_row, std::uint64_t sweep,
                    ActiveUnits& v) const;

  /// sums += scale times the sum over rows of v_i, p_j and v_i p_j, j of this rank's hidden units. Statistics
  /// without weights are zero.
  void add(const ActiveUnits& v, const AlignedVector<float>& probabilities, float scale,
           Statistics& sums) const;
  /// Completes sums by those of the other ranks.
  void share(Statistics& sums) const;
  /// The same for a number per hidden unit.
  void share_hidden(std::span<float> numbers) const;

 private:
  /// Units that a rank works out.
  struct Columns {
    std::size_t begin, end;
  };
  static Columns columns_of(std::size_t units, std::uint32_t rank, const Ranks& ranks);
  Columns own_columns(std::size_t units) const { return columns_of(units, ranks_->rank(), *ranks_); }
  void to_probabilities(std::size_t rows, AlignedVector<float>& fields) const;
  void draw(const AlignedVector<float>& fields, std::size_t stride, std::size_t units, std::size_t rows,
            std::uint64_t seed, std::uint32_t first_row, std::uint64_t sweep, Stream stream,
            ActiveUnits& out) const;

  std::size_t visible_, hidden_, visible_stride_, hidden_stride_;
  AlignedVector<float> by_visible_;  ///< visible rows of hidden_stride_
  AlignedVector<float> by_hidden_;   ///< hidden rows of visible_stride_
  AlignedVector<float> visible_bias_, hidden_bias_;
  const Ranks* ranks_;
};

/// The units that are on in rows of a table (row, variable) of zeros and ones.
void select_rows(std::span<const Value> values, std::size_t variables, std::span<const std::uint32_t> chosen,
                 ActiveUnits& out);

}  // namespace drover
