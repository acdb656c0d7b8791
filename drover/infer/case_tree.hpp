// One junction tree for many rows of evidence: planned and laid out once, then a pass per row.
//
// The messages are those of junction_tree.hpp, in plain numbers instead of logarithms: every table and
// message is scaled to a maximum of 1. A row multiplies its weights (1 for the observed state and 0 for the
// others, or likelihoods) into the clusters that eliminate its variables. Only these clusters and those above
// them are worked out anew; all others keep the messages of no evidence. The way down goes to the queried
// variables alone.
//
// Numbers: what is below 2^-1022 of a table's largest entry is lost. The messages carry a bound of what that
// can amount to,
//
//   error of m_c <= ( R_c * sum over children of their errors + entries * 2^-1022 ) / scale of m_c,
//
// R_c the largest sum of the cluster's own table over what it eliminates. Where the bound is above 10^-13 of
// an answer, or nothing is left, the row is worked out again in logarithms (JunctionTree on the same order).
//
// Assumes that the tables of all clusters fit beside one another (at most 2^25 entries); else every row goes
// by logarithms.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "drover/infer/cluster_tree.hpp"
#include "drover/infer/junction_tree.hpp"
#include "drover/model/observations.hpp"

namespace drover {

class CaseTree {
 public:
  /// What one thread needs to work out rows.
  class Room {
    friend class CaseTree;
    std::vector<double> weights;          // of every state of every place; ones between rows
    std::vector<std::uint32_t> weighted;  // places whose weights are not ones
    std::vector<bool> dirty;              // clusters with evidence at or below them
    std::vector<std::uint32_t> dirty_list;
    std::vector<double> messages, errors;  // upward, of dirty clusters
    std::vector<double> down, down_errors;
    std::vector<double> base, product;
    std::optional<Graph> graph;  // for rows by logarithms
  };

  /// `query`: free variables whose marginals every row gives, in this order. Graph and control must outlive
  /// the tree.
  CaseTree(const Graph& graph, const ExactPlan& plan, std::span<const VariableId> query,
           const ExactOptions& options = {});

  Room make_room() const;
  std::size_t answer_size() const { return answer_size_; }
  /// The marginals of the query given the evidence (of free variables), one after the other in `out`; returns
  /// log Z of it, or log_zero (and leaves `out` alone) when the evidence is impossible.
  double answer(const Observations& evidence, Room& room, std::span<double> out) const;
  /// The same by logarithms.
  double answer_by_logs(const Observations& evidence, Room& room, std::span<double> out) const;

 private:
  struct Child {
    std::uint32_t cluster;
    std::size_t index;  // where each entry of the scope finds its value in the child's message
  };
  struct Cluster {
    std::size_t states = 1, separators = 1;  // joint states of eliminated variables and separator
    std::size_t table = 0;                   // into tables_; the separator's states are fastest
    std::size_t message = 0;                 // into messages
    std::size_t weight_index = 0;            // into weight_indices_: (state, eliminated variable)
    std::size_t children_begin = 0, children_end = 0;
    double largest_column = 0, total = 0;  // sums of the table
    double log_scale = 0;                  // the table was divided by exp of this
    bool has_query = false;                // at or below it
  };
  struct Question {
    std::uint32_t cluster;
    std::size_t out, states;
    std::size_t value_index;  // into value_indices_: the variable's value in each state of the cluster
  };

  void lay_out();
  std::span<const Child> children(const Cluster& cluster) const {
    return {children_.data() + cluster.children_begin, cluster.children_end - cluster.children_begin};
  }
  const double* message_of(std::uint32_t c, const Room& room) const {
    return (room.dirty[c] ? room.messages : prior_messages_).data() + clusters_[c].message;
  }
  double error_of(std::uint32_t c, const Room& room) const {
    return (room.dirty[c] ? room.errors : prior_errors_)[c];
  }
  double weight(std::uint32_t c, std::size_t state, const Room& room) const;
  double pass_up(std::uint32_t c, const Room& room, double* message, double& error) const;
  bool pass_down(Room& room, std::span<double> out) const;
  void visit_down(std::uint32_t c, Room& room, std::span<double> out) const;
  std::span<const Question> questions_of(std::uint32_t c) const;
  double weigh(const Observations& evidence, Room& room) const;
  void clear(Room& room) const;
  double answer_by_tables(const Observations& evidence, Room& room, std::span<double> out) const;

  const Graph& graph_;
  ExactPlan plan_;
  ExactOptions options_;
  std::vector<VariableId> query_;
  std::size_t answer_size_ = 0;
  ClusterTree tree_;
  bool by_tables_ = false;
  std::vector<Cluster> clusters_;
  std::vector<Child> children_;
  std::vector<std::uint32_t> indices_;
  std::vector<std::uint32_t> weight_indices_, weight_offsets_;
  std::vector<std::uint32_t> value_indices_;
  std::vector<Question> questions_;      // by cluster, descending
  std::vector<std::uint32_t> way_down_;  // clusters with queries at or below them, parents first
  std::vector<double> tables_;
  std::vector<double> prior_messages_, prior_errors_, prior_logs_;
  double prior_log_z_ = 0;
};

}  // namespace drover
