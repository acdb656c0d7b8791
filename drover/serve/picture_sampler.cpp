#include "drover/serve/picture_sampler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <concepts>
#include <cstring>

#include "drover/core/error.hpp"
#include "drover/core/large_memory.hpp"
#include "drover/methods/gibbs_kernel.hpp"
#include "drover/sample/dual/dynamic_model.hpp"

namespace drover {

namespace {

/// Grids up to this size are sampled by `chains` unless told otherwise: a sweep of 64 takes 4 ms.
constexpr std::size_t usual_chains_size = 40'000;
/// From here on a binary grid is one fast chain.
constexpr std::size_t one_chain_from = 10'000;
/// Entries of all pixels and chains that sums are kept of.
constexpr std::size_t most_lane_entries = 16'000'000;

std::uint8_t shade(double level) {
  return static_cast<std::uint8_t>(std::clamp(255 * level + 0.5, 0.0, 255.0));
}

/// level(k), -1 .. +1.
double level_of(std::size_t state, std::size_t states) {
  return 2 * static_cast<double>(state) / static_cast<double>(states - 1) - 1;
}

class EditedChains final : public PictureSampler {
 public:
  EditedChains(const Graph& graph, std::uint64_t seed)
      : model_(graph, seed, half_life), factors_(model_.factors()), couplings_(graph.spin_pairs.couplings) {
    for (VariableId v = 0; v < graph.size(); ++v)
      log_odds_.push_back(graph.unary_of(v)[1] - graph.unary_of(v)[0]);
  }

  std::string_view summary() const override { return "primal-dual, 64 chains"; }
  std::uint32_t chains() const override { return DynamicModel::lanes; }
  void set_terms(const PictureTerms& terms) override {
    for (std::size_t v = 0; v < log_odds_.size(); ++v)
      model_.set_unary(v, (log_odds_[v] + 2 * terms.field) / terms.temperature);
    if (terms.temperature != temperature_)
      for (std::size_t f = 0; f < couplings_.size(); ++f)
        model_.set_coupling(factors_[f], couplings_[f] / terms.temperature);
    temperature_ = terms.temperature;
    model_.forget();
  }
  void hold(std::span<const PixelChange> changes) override {
    for (const PixelChange& change : changes)
      if (change.value < 0)
        model_.release(change.pixel);
      else
        model_.clamp(change.pixel, static_cast<Value>(change.value));
  }
  void sweep() override { model_.sweep(); }
  void read(std::uint32_t chain, std::span<std::uint8_t> values) const override {
    parallel_for(IndexRange(0, values.size(), 1 << 16), [&](const IndexRange& part) {
      for (std::size_t p = part.begin(); p < part.end(); ++p)
        values[p] = static_cast<std::uint8_t>(model_.word(p) >> chain & 1);
    });
  }
  void mean(std::span<std::uint8_t> levels) const override {
    parallel_for(IndexRange(0, levels.size(), 1 << 16), [&](const IndexRange& part) {
      for (std::size_t p = part.begin(); p < part.end(); ++p)
        levels[p] = shade(model_.marginal(p).probability);
    });
  }

 private:
  static constexpr double half_life = 100;
  DynamicModel model_;
  std::vector<DynamicModel::Id> factors_;
  std::vector<double> couplings_, log_odds_;  // at temperature 1, without the field
  double temperature_ = 1;
};

/// 8 bits as every second of 16 bytes, 0 or 1.
constexpr std::array<std::array<std::uint64_t, 2>, 256> spread_bits = [] {
  std::array<std::array<std::uint64_t, 2>, 256> table{};
  for (std::size_t byte = 0; byte < 256; ++byte)
    for (std::size_t bit = 0; bit < 8; ++bit)
      table[byte][bit / 4] |= std::uint64_t{byte >> bit & 1} << 16 * (bit % 4);
  return table;
}();

/// A state that lies as Checkerboard says, as bytes row by row: sixteen pixels at a time.
void unpack(const Checkerboard& board, std::span<const std::uint64_t> words, std::span<std::uint8_t> values) {
  parallel_for(IndexRange(0, board.height, 128), [&](const IndexRange& rows) {
    for (std::size_t y = rows.begin(); y < rows.end(); ++y) {
      const std::uint64_t* const even = words.data() + board.row(y % 2, y);
      const std::uint64_t* const odd = words.data() + board.row(1 - y % 2, y);
      std::uint8_t* const row = values.data() + y * board.width;
      for (std::size_t x = 0; x < board.width; x += 16) {
        const std::size_t shift = x / 2 % 64;
        const auto& a = spread_bits[even[x / 128] >> shift & 255];
        const auto& b = spread_bits[odd[x / 128] >> shift & 255];
        const std::uint64_t pixels[2] = {a[0] | b[0] << 8, a[1] | b[1] << 8};
        std::memcpy(row + x, pixels, std::min<std::size_t>(16, board.width - x));
      }
    }
  });
}

/// Chains of any kernel, with sums of the distributions that were drawn from.
class AnyChains {
 public:
  virtual ~AnyChains() = default;
  virtual std::uint32_t lanes() const = 0;
  virtual void set_temperature(double temperature) = 0;
  virtual void sweep(std::uint64_t number, bool add) = 0;
  virtual void read(std::uint32_t lane, std::span<Value> values) const = 0;
  virtual void write(std::uint32_t lane, std::span<const Value> values) = 0;
  /// The state of a lattice kernel as bytes, row by row.
  virtual void read_lattice(std::span<std::uint8_t> values) const = 0;

  AlignedFloats sums;  ///< entry-major, lane-minor
  double draws = 0;    ///< that they are of
  void scale(double factor) {
    for (float& sum : sums) sum *= static_cast<float>(factor);
    draws *= factor;
  }
};

template <Kernel K>
class ChainsOf final : public AnyChains {
 public:
  ChainsOf(const K& kernel, std::uint64_t seed) : kernel_(kernel), state_(kernel_.start(seed, 0)) {
    assign_large(sums, kernel_.entry_count() * kernel_.lanes(), 0.0F);
  }
  std::uint32_t lanes() const override { return kernel_.lanes(); }
  void set_temperature(double temperature) override {
    const std::vector<float> all(lanes(), static_cast<float>(1 / temperature));
    kernel_.set_inverse_temperatures(state_, all);
  }
  void sweep(std::uint64_t number, bool add) override {
    if (!add) return kernel_.sweep(state_, number);
    kernel_.sweep(state_, number, ConditionalSums{sums});
    draws += 1;
  }
  void read(std::uint32_t lane, std::span<Value> values) const override {
    kernel_.read(state_, lane, values);
  }
  void write(std::uint32_t lane, std::span<const Value> values) override {
    kernel_.write(state_, lane, values);
  }
  void read_lattice([[maybe_unused]] std::span<std::uint8_t> values) const override {
    if constexpr (std::same_as<K, GibbsSpinLattice>) unpack(kernel_.board(), state_.words, values);
    if constexpr (std::same_as<K, GibbsSpinEqualLattice>) kernel_.read(state_, values);
  }

 private:
  const K kernel_;
  typename K::State state_;
};

/// What the two kinds of Gibbs sampling share; they differ in how a change makes a kernel.
class GibbsPicture : public PictureSampler {
 public:
  GibbsPicture(const PictureShape& shape, std::uint64_t seed)
      : shape_(shape), seed_(seed), held_(shape.size(), -1) {}

  std::uint32_t chains() const override { return chains_ ? chains_->lanes() : 1; }
  void set_terms(const PictureTerms& terms) override {
    const bool rebuilt = terms.field != terms_.field;
    terms_ = terms;
    if (rebuilt) rebuild();
    if (chains_) chains_->set_temperature(terms.temperature);
    soften();
  }
  void hold(std::span<const PixelChange> changes) override {
    for (const PixelChange& change : changes) held_[change.pixel] = static_cast<std::int16_t>(change.value);
    rebuild();
    if (chains_) chains_->set_temperature(terms_.temperature);
    soften();
  }
  void sweep() override {
    if (!chains_) return;
    // Sums cost as much as a sweep where a sweep is fast.
    chains_->sweep(sweeps_, sweeps_ % add_every == 0);
    ++sweeps_;
    // The chains come from somewhere else: what was summed early counts little when the run has doubled.
    if ((sweeps_ & (sweeps_ - 1)) == 0) chains_->scale(0.25);
    if (chains_->draws >= most_draws) chains_->scale(0.5);  // sums of floats must not grow for ever
  }

 protected:
  /// Makes the chains anew, with the states and sums of the old ones.
  virtual void rebuild() = 0;

  static constexpr double most_draws = 4096;
  static constexpr std::uint64_t add_every = 8;
  const PictureShape shape_;
  const std::uint64_t seed_;
  PictureTerms terms_;
  std::vector<std::int16_t> held_;  ///< the value of every pixel that is held, -1 for the others
  std::unique_ptr<AnyChains> chains_;

 private:
  /// After a change what was summed counts little.
  void soften() {
    constexpr double left = 0.1;
    if (chains_ && chains_->draws > left) chains_->scale(left / chains_->draws);
  }
  std::uint64_t sweeps_ = 0;
};

/// One chain on a binary grid. A pixel that is held has a field that nothing outweighs.
class LatticePicture final : public GibbsPicture {
 public:
  LatticePicture(Lattice lattice, const PictureShape& shape, std::uint64_t seed)
      : GibbsPicture(shape, seed), lattice_(std::move(lattice)), bias_(lattice_.bias) {
    rebuild();
  }

  std::string_view summary() const override { return "Gibbs by colours, one chain"; }
  void read(std::uint32_t, std::span<std::uint8_t> values) const override { chains_->read_lattice(values); }
  void mean(std::span<std::uint8_t> levels) const override {
    const float scale = chains_->draws > 0 ? static_cast<float>(255 / chains_->draws) : 0;
    const float* const sums = chains_->sums.data();
    parallel_for(IndexRange(0, levels.size(), 1 << 16), [&](const IndexRange& part) {
      for (std::size_t p = part.begin(); p < part.end(); ++p)
        levels[p] =
            static_cast<std::uint8_t>(static_cast<std::int32_t>(std::min(255.0F, sums[p] * scale + 0.5F)));
    });
  }

 private:
  void rebuild() override {
    // At any temperature a person can set.
    constexpr float beyond = 1e6F;
    bool any = false;
    states_.resize(bias_.size());
    if (chains_) chains_->read(0, states_);
    for (std::size_t p = 0; p < bias_.size(); ++p) {
      lattice_.bias[p] = bias_[p] + static_cast<float>(2 * terms_.field);
      if (held_[p] < 0) continue;
      any = true;
      lattice_.bias[p] = held_[p] > 0 ? beyond : -beyond;
      states_[p] = static_cast<Value>(held_[p]);
    }
    const bool begun = chains_ != nullptr;
    std::unique_ptr<AnyChains> old = std::move(chains_);
    const auto equal = any ? std::nullopt : equal_lattice(lattice_);
    if (equal && equal->width >= 200)
      chains_ = std::make_unique<ChainsOf<GibbsSpinEqualLattice>>(GibbsSpinEqualLattice(*equal), seed_);
    else
      chains_ = std::make_unique<ChainsOf<GibbsSpinLattice>>(GibbsSpinLattice(lattice_), seed_);
    if (!begun) return;
    chains_->write(0, states_);
    chains_->sums = std::move(old->sums);
    chains_->draws = old->draws;
  }

  Lattice lattice_;
  const std::vector<float> bias_;  ///< without field and held pixels
  std::vector<Value> states_;
};

/// Any model: what is held is evidence.
class GraphPicture final : public GibbsPicture {
 public:
  GraphPicture(const Model& model, const PictureShape& shape, std::uint64_t seed)
      : GibbsPicture(shape, seed), model_(model) {
    std::size_t entries = 0;
    for (std::uint32_t states : model.cardinalities) entries += states == 2 ? 1 : states;
    wanted_ = 64 * entries <= most_lane_entries ? 64 : 1;
    rebuild();
  }

  std::string_view summary() const override {
    return chains() == 1 ? "Gibbs, one chain" : "Gibbs, 64 chains";
  }
  void read(std::uint32_t chain, std::span<std::uint8_t> values) const override {
    const Graph& graph = problem_->graph();
    states_.resize(graph.size());
    if (chains_) chains_->read(chain, states_);
    for (VariableId p = 0; p < values.size(); ++p) {
      const VariableId free = graph.free_variable[p];
      values[p] = static_cast<std::uint8_t>(free == no_variable ? graph.clamped_value[p] : states_[free]);
    }
  }
  void mean(std::span<std::uint8_t> levels) const override {
    const Graph& graph = problem_->graph();
    const double count = chains_ ? chains_->draws * chains() : 0;
    for (VariableId p = 0; p < levels.size(); ++p) {
      const VariableId free = graph.free_variable[p];
      if (!shape_.levels) {
        levels[p] = free == no_variable ? colour(graph.clamped_value[p], 1) : likely(free, count);
        continue;
      }
      double level = 0;
      if (free == no_variable)
        level = static_cast<double>(graph.clamped_value[p]) / (shape_.states - 1);
      else if (count > 0)
        for (std::uint32_t k = 1; k < shape_.states; ++k)
          level +=
              k * sum_of_entry(entries_[free] + (shape_.states == 2 ? 0 : k)) / count / (shape_.states - 1);
      levels[p] = shade(level);
    }
  }

 private:
  static std::uint8_t colour(std::uint32_t state, double probability) {
    return static_cast<std::uint8_t>(32 * state + std::lround(31 * std::clamp(probability, 0.0, 1.0)));
  }
  /// The most probable state of a variable that is free, of sums over so many draws.
  std::uint8_t likely(VariableId free, double count) const {
    if (count == 0) return colour(0, 0);
    std::uint32_t best = 0;
    double most = 0;
    for (std::uint32_t k = 0; k < shape_.states; ++k) {
      const double sum = sum_of_entry(entries_[free] + k);
      if (sum <= most) continue;
      most = sum;
      best = k;
    }
    return colour(best, most / count);
  }
  double sum_of_entry(std::size_t entry) const {
    const float* const first = chains_->sums.data() + entry * chains();
    double sum = 0;
    for (std::uint32_t lane = 0; lane < chains(); ++lane) sum += first[lane];
    return sum;
  }

  void rebuild() override {
    std::vector<std::vector<Value>> states;
    for (std::uint32_t lane = 0; chains_ && lane < chains(); ++lane) {
      states_.resize(problem_->graph().size());
      chains_->read(lane, states_);
      states.push_back(whole_assignment(problem_->graph(), states_));
    }
    Evidence evidence;
    for (VariableId p = 0; p < held_.size(); ++p)
      if (held_[p] >= 0) evidence.add(p, static_cast<Value>(held_[p]));
    Graph graph = compile(model_, evidence);
    for (VariableId v = 0; v < graph.size(); ++v)
      if (graph.model_variable[v] < shape_.size())
        for (std::size_t k = 0; k < graph.cardinalities[v]; ++k)
          graph.unary[graph.unary_offsets[v] + k] += terms_.field * level_of(k, graph.cardinalities[v]);
    auto next = std::make_unique<Problem>(std::move(graph), InferenceOptions{});
    entries_.assign(next->graph().size(), 0);
    std::size_t entry = 0;
    for (VariableId v = 0; v < next->graph().size(); ++v) {
      entries_[v] = entry;
      entry += next->graph().cardinalities[v] == 2 ? 1 : next->graph().cardinalities[v];
    }
    chains_.reset();
    problem_ = std::move(next);
    if (problem_->graph().size() == 0) return;  // everything is held
    with_gibbs_kernel(*problem_, wanted_, one_process(), [&](const auto& kernel, std::string_view) {
      using K = std::remove_cvref_t<decltype(kernel)>;
      if constexpr (!SpreadKernel<K>) chains_ = std::make_unique<ChainsOf<K>>(kernel, seed_);
    });
    for (std::uint32_t lane = 0; lane < chains() && lane < states.size(); ++lane) {
      states_.resize(problem_->graph().size());
      for (VariableId v = 0; v < states_.size(); ++v)
        states_[v] = states[lane][problem_->graph().model_variable[v]];
      chains_->write(lane, states_);
    }
  }

  const Model& model_;
  std::uint32_t wanted_ = 64;
  std::unique_ptr<Problem> problem_;
  std::vector<std::size_t> entries_;  ///< of every free variable
  mutable std::vector<Value> states_;
};

}  // namespace

std::string why_not_chains(const Model& model, const PictureShape& shape) {
  if (!shape.is_grid || shape.states != 2) return "it is for grids of binary pixels";
  const Graph graph = compile(model);
  return graph.is_spin() ? DynamicModel::why_not(graph) : "a pixel or a pair has probability zero";
}

PictureMethod usual_picture_method(const Model& model, const PictureShape& shape) {
  return shape.size() <= usual_chains_size && why_not_chains(model, shape).empty() ? PictureMethod::chains
                                                                                   : PictureMethod::gibbs;
}

std::unique_ptr<PictureSampler> make_picture_sampler(const Model& model, const PictureShape& shape,
                                                     PictureMethod method, std::uint64_t seed) {
  if (method == PictureMethod::chains) {
    const std::string reason = why_not_chains(model, shape);
    if (!reason.empty()) throw Error(ErrorKind::misfit, reason);
    return std::make_unique<EditedChains>(compile(model), seed);
  }
  if (shape.is_grid && shape.states == 2 && shape.size() >= one_chain_from) {
    const Graph graph = compile(model);
    if (graph.is_spin())
      if (auto lattice = recognise_lattice(graph); lattice && lattice->is_checkerboard())
        return std::make_unique<LatticePicture>(std::move(*lattice), shape, seed);
  }
  return std::make_unique<GraphPicture>(model, shape, seed);
}

}  // namespace drover
