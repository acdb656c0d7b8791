#include "drover/io/result_files.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "drover/io/atomic_file.hpp"
#include "drover/io/number_text.hpp"

namespace drover {

namespace {

void expect_header(TextSource& source, const char* word) {
  source.next_token();
  if (source.token() != word) source.fail_expected(word);
}

}  // namespace

void write_mar(const Distributions& marginals, const std::string& path) {
  AtomicFile file(path);
  file.write(fmt::format("MAR\n{}", marginals.size()));
  for (std::size_t v = 0; v < marginals.size(); ++v) {
    file.write(fmt::format(" {}", marginals[v].size()));
    for (double p : marginals[v]) {
      file.write(' ');
      file.write(NumberText(p));
    }
  }
  file.write('\n');
  file.commit();
}

std::vector<std::vector<double>> read_mar(TextSource& source) {
  expect_header(source, "MAR");
  const std::uint64_t variables = source.count("the number of variables", no_variable - 1);
  std::vector<std::vector<double>> marginals;
  for (std::uint64_t v = 0; v < variables; ++v) {
    const std::uint64_t states = source.count("the number of states of a variable", max_cardinality);
    if (states == 0) source.fail_expected("at least 1 state");
    std::vector<double>& marginal = marginals.emplace_back();
    for (std::uint64_t k = 0; k < states; ++k) {
      const double p = source.number("a probability");
      if (p < 0) source.fail_expected("a probability that is not negative");
      marginal.push_back(p);
    }
  }
  source.expect_end();
  return marginals;
}

std::vector<std::vector<double>> read_mar(const std::string& path) {
  TextSource source(path);
  return read_mar(source);
}

void write_pr(double log_z, const std::string& path) {
  write_file(path, fmt::format("PR\n{}\n", std::string_view(NumberText(log_z / std::numbers::ln10))));
}

double read_pr(TextSource& source) {
  expect_header(source, "PR");
  const double log10_z = source.number("the logarithm of Z");
  source.expect_end();
  return log10_z * std::numbers::ln10;
}

double read_pr(const std::string& path) {
  TextSource source(path);
  return read_pr(source);
}

void write_map(std::span<const Value> assignment, const std::string& path) {
  AtomicFile file(path);
  file.write(fmt::format("MAP\n{}", assignment.size()));
  for (Value value : assignment) file.write(fmt::format(" {}", value));
  file.write('\n');
  file.commit();
}

std::vector<Value> read_map(TextSource& source) {
  expect_header(source, "MAP");
  const std::uint64_t variables = source.count("the number of variables", no_variable - 1);
  std::vector<Value> assignment;
  for (std::uint64_t v = 0; v < variables; ++v)
    assignment.push_back(static_cast<Value>(source.count("the value of a variable", max_cardinality - 1)));
  source.expect_end();
  return assignment;
}

std::vector<Value> read_map(const std::string& path) {
  TextSource source(path);
  return read_map(source);
}

}  // namespace drover
