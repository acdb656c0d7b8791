// The options of the commands that have no typed options of their own yet: one plain struct and one table.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "drover/core/option_list.hpp"

namespace drover::app {

struct Settings {
  // What is asked
  std::string evidence;  ///< a UAI evidence file
  std::string observe;   ///< NAME=VALUE,...
  std::string query;     ///< NAME,...
  std::string method = "auto";
  // How much work
  std::int64_t seed = 1;
  std::int64_t threads = 0;   ///< 0: all cores
  std::int64_t chains = 0;    ///< 0: chosen by the method
  std::int64_t sweeps = 0;    ///< 0: chosen by the method
  std::int64_t burn_in = -1;  ///< -1: chosen by the method
  std::int64_t thin = 1;
  std::int64_t samples = 0;  ///< 0: chosen by the method
  double time = 0;           ///< seconds; 0: no limit
  double target_rhat = 0;
  double target_mcse = 0;
  std::string scan = "fixed";     ///< fixed or random
  std::string share = "auto";     ///< herded Gibbs: which visits share a weight
  std::string schedule = "auto";  ///< order of updates, in the words of each method
  std::int64_t iterations = 0;    ///< of message passing, of learning; 0: chosen by the method
  double damping = -1;            ///< share of the old message kept; -1: chosen by the method
  double bond_share = 0.5;        ///< partial Swendsen-Wang: share of a pair's strength that makes bonds
  bool redraw = false;            ///< tree-primal-dual: a new forest every sweep
  double tolerance = 0.1;         ///< primal-dual: nats that a fitted decomposition may be off
  double memory_limit = 0;        ///< gigabytes; 0: half of the machine's memory
  std::int64_t temperatures = 0;
  double min_inverse_temperature = -1;
  bool pairs = false;
  bool check = false;
  // Where it goes
  std::string out;
  std::string report;
  std::string checkpoint;
  bool resume = false;
  std::string config;
  bool json = false;
  bool quiet = false;
  double l1 = 0;
  double l2 = 0;
  double held_out = 0;
  std::int64_t patience = 0;
  // denoise
  double sigma = 0;  ///< 0: estimated
  double noise = 0;
  std::int64_t levels = 2;
  double truncation = 0.5;
  std::string truth;
  bool grey = false;
  // stream
  std::string edits;  ///< a file of edits; empty: the standard input
  std::int64_t edits_per_sweep = 0;
  std::int64_t every = 0;
  double half_life = 100;
  bool live = false;
  // primal-dual-em
  bool forest = false;
  // reproduce
  std::string data;
  bool quick = false;
  // text
  std::string classes;  ///< how many, or their names
  double labelled_share = 1;
  std::int64_t min_count = 1;
  std::int64_t ngrams = 1;
  std::string stop_words;
  bool keep_case = false;
  std::string encoding = "utf-8";
  std::string input_format = "auto";
  double class_pseudo_count = 1;
  double word_pseudo_count = 1;
  bool sample_pseudo_counts = false;
  bool no_swaps = false;
  std::int64_t top_words = 10;
  bool demo = false;
  // generate
  std::int64_t documents = 400;
  // tag
  std::string algorithm = "lbfgs";
  std::string templates;
  std::string gazetteers;
  std::string dev;
  std::string scheme = "auto";
  std::string rename;
  bool skip = false;
  std::string skip_data;
  // generate
  std::int64_t sentences = 1000;
  std::int64_t images = 20;
  std::int64_t width = 10;
  std::int64_t height = 0;
  bool periodic = false;
  std::int64_t variables = 100;
  std::int64_t states = 0;
  double degree = 3;
  std::int64_t arity = 3;
  std::int64_t factors = 0;
  std::int64_t hidden = 8;
  double coupling = 0;
  double coupling_sd = 0;
  double coupling_range = 0;
  bool random_signs = false;
  double field = 0;
  double field_sd = 0;
  double zero_share = 0;
};

using SettingField =
    std::variant<bool Settings::*, std::int64_t Settings::*, double Settings::*, std::string Settings::*>;

struct OptionSpec {
  std::string_view name;        ///< without the leading dashes
  std::string_view value_name;  ///< what stands for the value in --help; empty for a flag
  std::string_view help;
  SettingField field;
  double min;  ///< bounds of numbers, both included
  double max;
  std::string_view commands;      ///< space-separated names of the commands that take it
  std::string_view choices = "";  ///< space-separated values it may have; empty: any
};

struct Invocation {
  std::string command;
  std::vector<std::string> arguments;
  Settings settings;
  std::vector<std::string> given;  ///< names of the options set on the command line or by a config file

  bool was_given(std::string_view option) const;
};

/// Binds the options of a command to the settings.
void describe(OptionList& list, Settings& settings, std::string_view command);

}  // namespace drover::app
