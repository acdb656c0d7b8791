// Rules of the tree that no compiler checks: which folder may include which, no command-line words in the
// library, headers that stand alone, every kernel under the conformance suite, an example for every question.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
const fs::path source = DROVER_SOURCE_DIR;

/// In the order of ARCHITECTURE.md: a folder includes only itself and what stands before it.
const std::vector<std::string> folders = {"core",    "cluster", "model", "draw",     "compile", "infer",
                                          "sample",  "numeric", "herd",  "diagnose", "io",      "classify",
                                          "machine", "text",    "tag",   "image",    "run",     "methods",
                                          "task",    "report",  "serve"};

std::string whole(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<fs::path> sources() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::recursive_directory_iterator(source / "drover"))
    if (entry.path().extension() == ".cpp" || entry.path().extension() == ".hpp")
      found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

std::size_t place(const std::string& folder) {
  return static_cast<std::size_t>(std::find(folders.begin(), folders.end(), folder) - folders.begin());
}

TEST(Rules, FoldersIncludeOnlyWhatStandsBeforeThem) {
  const std::regex include(R"re(#include "drover/([a-z_]+)/)re");
  for (const fs::path& path : sources()) {
    const fs::path below = fs::relative(path, source / "drover");
    if (!below.has_parent_path()) continue;  // drover.hpp, the door to all
    const std::string folder = below.begin()->string();
    ASSERT_LT(place(folder), folders.size()) << folder << " is not in the list of this test";
    const std::string text = whole(path);
    for (std::sregex_iterator match(text.begin(), text.end(), include), end; match != end; ++match)
      EXPECT_LE(place((*match)[1]), place(folder)) << below << " includes drover/" << (*match)[1];
  }
}

TEST(Rules, TheLibraryKnowsNothingOfTheCommandLine) {
  const std::regex flag(R"re("[^"\n]*--[a-z{])re");
  for (const fs::path& path : sources()) {
    const std::string text = whole(path);
    std::smatch match;
    EXPECT_FALSE(std::regex_search(text, match, flag)) << path << ": " << match.str();
  }
}

/// All that a header includes, itself too, as the compiler sees it: paths of drover's own, and of others'.
std::vector<fs::path> included_by(const fs::path& header) {
  const std::string line =
      std::string(DROVER_COMPILER) + " -std=c++20 -x c++ -M -I" + source.string() + " " + header.string();
  std::vector<fs::path> found;
  std::FILE* output = popen(line.c_str(), "r");
  EXPECT_NE(output, nullptr);
  char word[4096];
  while (output != nullptr && std::fscanf(output, "%4095s", word) == 1)
    if (word[0] == '/') found.emplace_back(word);
  EXPECT_EQ(output == nullptr ? 1 : pclose(output), 0) << header;
  return found;
}

/// What users include: the headers that drover.hpp names, questions, pages of their answers, and what all of them
/// are made of.
std::vector<fs::path> public_headers() {
  std::vector<fs::path> found = {source / "drover/drover.hpp"};
  const std::string door = whole(found.front());
  const std::regex include(R"re(#include "(drover/[^"]+)")re");
  for (std::sregex_iterator match(door.begin(), door.end(), include), end; match != end; ++match)
    found.push_back(source / (*match)[1].str());
  for (const char* folder : {"core", "model", "task", "report"})
    for (const auto& entry : fs::directory_iterator(source / "drover" / folder))
      if (entry.path().extension() == ".hpp" && !entry.path().string().ends_with("-inl.hpp"))
        found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

TEST(Rules, NoJsonTypeInWhatUsersInclude) {
  const std::vector<fs::path> headers = public_headers();
  EXPECT_GT(headers.size(), 60U);
  for (const fs::path& path : headers) EXPECT_EQ(whole(path).find("nlohmann/"), std::string::npos) << path;
  for (const fs::path& path : included_by(source / "drover/drover.hpp"))
    EXPECT_EQ(path.string().find("nlohmann"), std::string::npos) << path;
}

/// The command parses, prints and hears signals: it knows questions and files, and no algorithm.
TEST(Rules, TheCommandHasNoAlgorithm) {
  const std::regex include(
      R"re(#include "drover/(infer|sample|machine|classify|herd|numeric|image|diagnose|methods|run|compile)/([a-z_]+)\.hpp")re");
  // Types of options and answers; and the one validator, before a file is passed on.
  const std::vector<std::string> allowed = {"run/limits", "run/inference_options", "run/result",
                                            "compile/graph", "compile/stoppable"};
  for (const auto& entry : fs::directory_iterator(source / "app")) {
    const std::string text = whole(entry.path());
    for (std::sregex_iterator match(text.begin(), text.end(), include), end; match != end; ++match) {
      const std::string name = (*match)[1].str() + "/" + (*match)[2].str();
      EXPECT_NE(std::find(allowed.begin(), allowed.end(), name), allowed.end())
          << entry.path() << " includes drover/" << name << ".hpp";
    }
  }
}

/// A class with a sweep that adds conditionals up is a kernel: all of them are in the one suite.
TEST(Rules, EveryKernelIsUnderTheConformanceSuite) {
  std::string suites;
  for (const auto& entry : fs::directory_iterator(source / "tests/sample"))
    if (entry.path().string().ends_with("_conformance_test.cpp")) suites += whole(entry.path());
  const std::regex name(R"re(\nclass ([A-Za-z]+)[^;]*? \{)re");
  std::size_t kernels = 0;
  for (const fs::path& path : sources()) {
    const std::string text = whole(path);
    if (path.extension() != ".hpp" || path.string().find("/sample/") == std::string::npos) continue;
    if (path.string().find("/spread/") != std::string::npos)
      continue;  // bits of another: tests/run/ranks_test.cpp
    if (text.find(" sweep(State& state, std::uint64_t sweep, ConditionalSums sums) const") ==
        std::string::npos)
      continue;
    if (path.filename() == "gibbs_spin_checkerboard.hpp") continue;  // the base of two kernels
    // The class that has it is the last one that begins before it.
    const std::string before = text.substr(0, text.find("ConditionalSums sums) const"));
    std::string kernel;
    for (std::sregex_iterator match(before.begin(), before.end(), name), end; match != end; ++match)
      kernel = (*match)[1];
    ASSERT_FALSE(kernel.empty()) << path;
    EXPECT_TRUE(std::regex_search(suites, std::regex("\\b" + kernel + "\\b"))) << kernel;
    ++kernels;
  }
  EXPECT_GE(kernels, 13U);
}

/// What the command asks the library, a program can ask too: each question has a short one that does.
TEST(Rules, EveryQuestionHasAnExample) {
  for (const char* question :
       {"marginals", "best_state", "log_z", "sample", "herd", "learn", "classify_text", "train_tagger",
        "denoise", "stream", "compare", "diagnose", "model_info", "generate_model"}) {
    bool shown = false;
    for (const auto& entry : fs::directory_iterator(source / "examples"))
      if (entry.path().extension() == ".cpp")
        shown |=
            std::regex_search(whole(entry.path()), std::regex("drover::" + std::string(question) + "\\("));
    EXPECT_TRUE(shown) << question;
  }
}

/// Files, compressed or not, are read in chunks as text, or whole by one function.
TEST(Rules, OneReaderOfWholeFiles) {
  const std::vector<std::string> readers = {"io/whole_file.cpp", "io/text_source.cpp"};
  for (const fs::path& path : sources()) {
    const std::string below = fs::relative(path, source / "drover").string();
    if (std::find(readers.begin(), readers.end(), below) != readers.end()) continue;
    EXPECT_EQ(whole(path).find("gzread("), std::string::npos) << below;
  }
}

/// Tables in comments stay as they were written, and a build inside another project finds its own files.
TEST(Rules, FormatAndBuildFiles) {
  EXPECT_NE(whole(source / ".clang-format").find("ReflowComments: false"), std::string::npos);
  std::vector<fs::path> files = {source / "CMakeLists.txt"};
  for (const char* folder : {"cmake", "tests", "bench", "examples", "fuzz", "python"})
    for (const auto& entry : fs::recursive_directory_iterator(source / folder))
      if (entry.path().extension() == ".cmake" || entry.path().filename() == "CMakeLists.txt")
        files.push_back(entry.path());
  for (const fs::path& path : files)
    EXPECT_EQ(whole(path).find("CMAKE_SOURCE_DIR"), std::string::npos) << path;
}

/// Names of the standard library that headers use, and where any one of these declares them.
const std::map<std::string, std::string> standard_headers = {
    {"abs", "cmath cstdlib"},
    {"allocator", "memory"},
    {"array", "array"},
    {"async", "future"},
    {"atomic", "atomic"},
    {"chrono", "chrono"},
    {"cos", "cmath"},
    {"exp", "cmath"},
    {"expm1", "cmath"},
    {"floating_point", "concepts"},
    {"function", "functional"},
    {"future_status", "future"},
    {"holds_alternative", "variant"},
    {"initializer_list", "initializer_list"},
    {"int64_t", "cstdint"},
    {"integral", "concepts"},
    {"is_arithmetic_v", "type_traits"},
    {"is_enum_v", "type_traits"},
    {"is_trivially_copyable_v", "type_traits"},
    {"launch", "future"},
    {"log", "cmath"},
    {"log1p", "cmath"},
    {"make_shared", "memory"},
    {"max", "algorithm"},
    {"memcpy", "cstring"},
    {"memory_order_acq_rel", "atomic"},
    {"memory_order_acquire", "atomic"},
    {"memory_order_relaxed", "atomic"},
    {"min", "algorithm"},
    {"monostate", "variant"},
    {"move", "utility string vector"},
    {"nullopt", "optional"},
    {"numeric_limits", "limits"},
    {"optional", "optional"},
    {"pair", "utility"},
    {"ptrdiff_t", "cstddef"},
    {"ranges", "algorithm ranges"},
    {"runtime_error", "stdexcept"},
    {"same_as", "concepts"},
    {"shared_ptr", "memory"},
    {"size_t", "cstddef string vector span array"},
    {"span", "span"},
    {"sqrt", "cmath"},
    {"string", "string"},
    {"string_view", "string_view"},
    {"swap", "utility"},
    {"to_string", "string"},
    {"type_identity_t", "type_traits"},
    {"uint16_t", "cstdint"},
    {"uint32_t", "cstdint"},
    {"uint64_t", "cstdint"},
    {"uint8_t", "cstdint"},
    {"uintptr_t", "cstdint"},
    {"unique_ptr", "memory"},
    {"variant", "variant"},
    {"vector", "vector"},
};

/// Adds what `header` includes in angle brackets, itself and through drover's own headers.
void add_foreign_includes(const fs::path& header, std::set<fs::path>& seen, std::set<std::string>& found) {
  if (!seen.insert(header).second) return;
  const std::string text = whole(header);
  const std::regex include(R"re(\n#include (<([^>]+)>|"(drover/[^"]+)"))re");
  for (std::sregex_iterator match(text.begin(), text.end(), include), end; match != end; ++match)
    if ((*match)[2].matched)
      found.insert((*match)[2].str());
    else
      add_foreign_includes(source / (*match)[3].str(), seen, found);
}

/// Every header includes what declares the names of the standard library that it uses. (By its text: a compiler that read
/// all of the standard library anew for each header would take two minutes to see the same.)
TEST(Rules, PublicHeadersIncludeTheStandardHeadersTheyUse) {
  const std::regex comment("//[^\n]*");
  const std::regex name("\\bstd::([a-z0-9_]+)");
  for (const fs::path& header : public_headers()) {
    std::set<fs::path> seen;
    std::set<std::string> included;
    add_foreign_includes(header, seen, included);
    const std::string text = std::regex_replace(whole(header), comment, "");
    std::set<std::string> used;
    for (std::sregex_iterator match(text.begin(), text.end(), name), end; match != end; ++match)
      used.insert((*match)[1]);
    for (const std::string& word : used) {
      const auto known = standard_headers.find(word);
      ASSERT_NE(known, standard_headers.end())
          << "which standard header declares std::" << word << " of " << header << "?";
      std::istringstream declaring(known->second);
      const bool is_included = std::any_of(std::istream_iterator<std::string>(declaring), {},
                                           [&](const std::string& one) { return included.contains(one); });
      EXPECT_TRUE(is_included) << header << " uses std::" << word
                               << " and includes none of: " << known->second;
    }
  }
}

/// The types of drover's that a header declares for all: names at the beginning of a line.
void add_types_of(const fs::path& header, std::map<std::string, std::set<fs::path>>& declared_in) {
  const std::string text = whole(header);
  const std::regex type(
      R"re(\n(?:template <[^\n]*>\n)?(?:struct|class|enum class|using) ([A-Z]\w*)[^;{]*?( =|\{|;))re");
  for (std::sregex_iterator match(text.begin(), text.end(), type), end; match != end; ++match)
    declared_in[(*match)[1]].insert(header);
}

/// Every header includes, itself or through others, one that declares each of drover's types that it names, or declares it.
TEST(Rules, HeadersIncludeTheTypesTheyName) {
  std::map<std::string, std::set<fs::path>> declared_in;
  std::vector<fs::path> headers = sources();
  std::erase_if(headers, [](const fs::path& path) {  // parts of vector kernels are included where they belong
    return path.extension() != ".hpp" || path.string().ends_with("-inl.hpp");
  });
  EXPECT_GT(headers.size(), 300U);
  for (const fs::path& header : headers) add_types_of(header, declared_in);
  EXPECT_GT(declared_in.size(), 500U);
  const std::regex no_code("//[^\n]*|\"[^\"\n]*\"");
  const std::regex declaration("(?:struct|class|typename|concept|using) (\\w+)");
  const std::regex name(R"re((?:\w+::)*\b([A-Z][a-z]\w*))re");
  for (const fs::path& header : headers) {
    std::set<fs::path> seen;
    std::set<std::string> foreign;
    add_foreign_includes(header, seen, foreign);
    const std::string text = std::regex_replace(whole(header), no_code, "");
    std::set<std::string> named, own;
    for (std::sregex_iterator match(text.begin(), text.end(), declaration), end; match != end; ++match)
      own.insert((*match)[1]);
    for (std::sregex_iterator match(text.begin(), text.end(), name), end; match != end; ++match)
      if ((*match)[1].first == (*match)[0].first) named.insert((*match)[1]);  // others say whose they are
    for (const std::string& type : named) {
      const auto places = declared_in.find(type);
      if (places == declared_in.end() || own.contains(type)) continue;
      EXPECT_TRUE(std::any_of(places->second.begin(), places->second.end(),
                              [&](const fs::path& place) { return seen.contains(place); }))
          << fs::relative(header, source) << " names " << type << " and does not include "
          << fs::relative(*places->second.begin(), source);
    }
  }
}

/// With foreign headers read already, each public header compiles alone: it includes those of drover's that it needs. Here
/// those which the others stand on; `make tidy` compiles them all (DROVER_ALL_HEADERS), which takes the compiler forty seconds.
TEST(Rules, PublicHeadersStandAlone) {
  std::vector<fs::path> headers = public_headers();
  if (std::getenv("DROVER_ALL_HEADERS") == nullptr)
    std::erase_if(headers, [](const fs::path& header) {
      const std::string folder = header.parent_path().filename();
      return folder != "core" && folder != "model";
    });
  EXPECT_GT(headers.size(), 30U);
  std::set<fs::path> seen;
  std::set<std::string> foreign;
  for (const fs::path& header : headers) add_foreign_includes(header, seen, foreign);
  const fs::path work = fs::temp_directory_path() / ("drover-headers-" + std::to_string(getpid()));
  fs::create_directories(work);
  {
    std::ofstream all(work / "foreign.hpp");
    for (const std::string& name : foreign) all << "#include <" << name << ">\n";
  }
  const std::string compile = std::string(DROVER_COMPILER) + " -std=c++20 -Winvalid-pch -Werror -I" +
                              source.string() + " -x c++-header ";
  const std::string precompiled = (work / "foreign.hpp").string();
  ASSERT_EQ(std::system((compile + precompiled + " -o " + precompiled + ".gch").c_str()), 0);
  for (const fs::path& header : headers) {
    const fs::path unit = work / "unit.hpp";
    std::ofstream(unit) << "#include \"" << fs::relative(header, source).string() << "\"\n";
    EXPECT_EQ(std::system((compile + "-fsyntax-only -include " + precompiled + " " + unit.string()).c_str()),
              0)
        << header;
  }
  fs::remove_all(work);
}

}  // namespace
