// What is written is read back, by drover and by NumPy and netCDF4; what cannot be finished leaves nothing.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "drover/core/error.hpp"
#include "drover/core/random.hpp"
#include "drover/io/draws.hpp"
#include "tests/io_draws/temporary_folder.hpp"

namespace drover {
namespace {

using testing::TemporaryFolder;

const std::vector<std::string> names{"plain", "with, comma", "with \"quotes\"", "chain", "größe π",
                                     "#5",    " x"};

DrawFileHeader header_for(std::uint32_t cardinality) {
  DrawFileHeader header;
  header.variable_names = names;
  header.chains = 3;
  header.max_cardinality = cardinality;
  header.evidence_names = {"seen", "also seen"};
  header.evidence_values = {1, 300};
  header.metadata = R"({"method":"gibbs","seed":1})";
  header.created_at = "2026-01-01T00:00:00Z";
  return header;
}

Value value_at(std::size_t t, std::size_t c, std::size_t v, std::uint32_t cardinality) {
  const Random random(7, Stream::generate);
  return static_cast<Value>(random.block(static_cast<std::uint32_t>(c), t, static_cast<std::uint32_t>(v))[0] %
                            cardinality);
}

void write_some(DrawWriter& writer, std::size_t draws, std::uint32_t cardinality) {
  for (std::size_t t = 0; t < draws; ++t)
    for (std::size_t c = 0; c < 3; ++c) {
      std::vector<Value> x(names.size());
      for (std::size_t v = 0; v < x.size(); ++v) x[v] = value_at(t, c, v, cardinality);
      writer.append(c, x, -0.1 * static_cast<double>(t) + static_cast<double>(c));
    }
}

double number_at(const DrawFile& file, std::size_t i) {
  return std::visit([&](const auto& values) { return static_cast<double>(values[i]); }, file.values);
}

class EveryFormat : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryFormat, ReadingEndsWhenItIsAskedTo) {
  const TemporaryFolder folder;
  const std::string path = folder.file(std::string("draws") + GetParam());
  const auto writer = make_draw_writer(path, header_for(2));
  write_some(*writer, 200, 2);
  writer->finish();
  RunControl control;
  control.request_stop();
  try {
    read_draws(path, control);
    ADD_FAILURE() << "was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::interrupted);
  }
}

TEST_P(EveryFormat, IsReadBack) {
  for (const std::uint32_t cardinality : {2U, 256U, 65535U}) {
    const TemporaryFolder folder;
    const std::string path = folder.file(std::string("draws") + GetParam());
    const auto writer = make_draw_writer(path, header_for(cardinality));
    write_some(*writer, 5000, cardinality);
    // A last draw of one chain only: dropped.
    writer->append(0, std::vector<Value>(names.size(), 0), 0);
    EXPECT_FALSE(std::filesystem::exists(path));
    writer->finish();
    EXPECT_EQ(writer->draws(), 5000U);
    EXPECT_EQ(folder.count(), 1U);

    const DrawFile file = read_draws(path);
    ASSERT_EQ(file.draws, 5000U);
    ASSERT_EQ(file.chains, 3U);
    EXPECT_EQ(file.values.index(), cardinality <= 256 ? 0U : 1U);
    ASSERT_EQ(file.log_scores.size(), 5000 * 3U);
    ASSERT_EQ(file.variable_names, names);
    for (std::size_t t = 0, i = 0; t < 5000; ++t)
      for (std::size_t c = 0; c < 3; ++c) {
        ASSERT_EQ(file.log_scores[t * 3 + c], -0.1 * static_cast<double>(t) + static_cast<double>(c));
        for (std::size_t v = 0; v < names.size(); ++v, ++i)
          ASSERT_EQ(number_at(file, i), value_at(t, c, v, cardinality)) << t << " " << c << " " << v;
      }
    if (std::string(GetParam()).find("csv") == std::string::npos) {
      EXPECT_EQ(nlohmann::json::parse(file.metadata)["method"], "gibbs");
    }
  }
}

TEST_P(EveryFormat, WithoutFinishNothingIsLeft) {
  const TemporaryFolder folder;
  const std::string name = std::string("draws") + GetParam();
  folder.write(name, "what was there before");
  {
    const auto writer = make_draw_writer(folder.file(name), header_for(2));
    write_some(*writer, 5, 2);
  }
  EXPECT_EQ(folder.count(), 1U);
  EXPECT_EQ(folder.read(name), "what was there before");
}

TEST_P(EveryFormat, NoDrawsAtAll) {
  const TemporaryFolder folder;
  const std::string path = folder.file(std::string("draws") + GetParam());
  DrawFileHeader header = header_for(2);
  header.variable_names = {"a", "b"};
  make_draw_writer(path, header)->finish();
  const DrawFile file = read_draws(path);
  EXPECT_EQ(file.draws, 0U);
  EXPECT_EQ(file.variables(), 2U);
}

TEST_P(EveryFormat, EqualRunsGiveEqualFiles) {
  const TemporaryFolder folder;
  for (const char* name : {"a", "b"}) {
    const auto writer = make_draw_writer(folder.file(name + std::string(GetParam())), header_for(9));
    write_some(*writer, 20, 9);
    writer->finish();
  }
  EXPECT_EQ(folder.read("a" + std::string(GetParam())), folder.read("b" + std::string(GetParam())));
}

TEST_P(EveryFormat, CannotWriteOrRead) {
  const TemporaryFolder folder;
  const auto kind_of = [](auto&& action) {
    try {
      action();
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::internal;
  };
  const std::string extension = GetParam();
  const std::string missing = folder.file("no/such/folder/draws" + extension);
  EXPECT_EQ(kind_of([&] { make_draw_writer(missing, header_for(2)); }), ErrorKind::cannot_write);
  EXPECT_EQ(kind_of([&] { read_draws(missing); }), ErrorKind::cannot_read);
  const std::string occupied = folder.file("folder" + extension);
  std::filesystem::create_directory(occupied);
  EXPECT_EQ(kind_of([&] { make_draw_writer(occupied, header_for(2)); }), ErrorKind::cannot_write);
  EXPECT_EQ(kind_of([&] { read_draws(occupied); }), ErrorKind::cannot_read);
  EXPECT_EQ(kind_of([&] { make_draw_writer(folder.file("draws.txt"), header_for(2)); }), ErrorKind::usage);
  EXPECT_EQ(kind_of([&] { read_draws(folder.file("draws.txt")); }), ErrorKind::usage);
  EXPECT_EQ(folder.count(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Draws, EveryFormat, ::testing::Values(".npz", ".csv", ".csv.gz", ".nc"));

TEST(NumPy, ReadsWhatDroverWrote) {
  if (!testing::python_has("numpy")) GTEST_SKIP() << "python3-numpy is not installed";
  const TemporaryFolder folder;
  for (const std::uint32_t cardinality : {3U, 1000U}) {
    const auto writer = make_draw_writer(folder.file("draws.npz"), header_for(cardinality));
    write_some(*writer, 50, cardinality);
    writer->finish();
    std::string sums;
    for (std::size_t c = 0; c < 3; ++c) {
      std::size_t sum = 0;
      for (std::size_t t = 0; t < 50; ++t)
        for (std::size_t v = 0; v < names.size(); ++v)
          sum += (t + 1) * (v + 1) * value_at(t, c, v, cardinality);
      sums += std::to_string(sum) + ",";
    }
    folder.write("check.py", R"(
import json, sys, zipfile, numpy
path = sys.argv[1]
assert zipfile.ZipFile(path).testzip() is None
f = numpy.load(path)
d = f["draws"]
assert d.shape == (50, 3, 7) and d.dtype == numpy.dtype(sys.argv[2]), (d.shape, d.dtype)
weights = numpy.arange(1, 51)[:, None, None] * numpy.arange(1, 8)[None, None, :]
assert (d.astype(int) * weights).sum(axis=(0, 2)).tolist() == [)" +
                                 sums + R"(]
assert f["log_score"].shape == (50, 3) and abs(f["log_score"][10, 2] - 1.0) < 1e-12
assert f["variables"].tolist()[4] == "größe π" and f["variables"].shape == (7,)
assert f["evidence_variables"].tolist() == ["seen", "also seen"] and f["evidence_values"].tolist() == [1, 300]
m = json.loads(str(f["metadata"]))
assert m["seed"] == 1 and m["dimensions"] == ["draw", "chain", "variable"], m
)");
    const std::string command = "/usr/bin/python3 " + folder.file("check.py") + " " +
                                folder.file("draws.npz") + (cardinality > 256 ? " uint16" : " uint8");
    EXPECT_EQ(std::system(command.c_str()), 0);
  }
}

TEST(NumPy, DroverReadsWhatItWrote) {
  if (!testing::python_has("numpy")) GTEST_SKIP() << "python3-numpy is not installed";
  const TemporaryFolder folder;
  folder.write("make.py", R"(
import sys, numpy
folder = sys.argv[1]
d = numpy.arange(2 * 4 * 3).reshape(2, 4, 3)  # chain, draw, variable
for name, a in {"int64": d, "uint8": d.astype("u1"), "big": d.astype(">i4"), "uint16": d.astype("<u2"),
                "float": d.astype("f4"), "int8": d.astype("i1"), "fortran": numpy.asfortranarray(d.astype("u1")),
                "big2": d.astype(">u2"), "half": d + 0.5}.items():
    numpy.savez(folder + "/" + name + ".npz", draws=a)
    numpy.savez_compressed(folder + "/" + name + "_c.npz", other=numpy.array("text"), first=a)
for kind in "i1 <i2 >i2 <i4 >i4 <i8 >i8 <f4 >f8".split():
    numpy.savez(folder + "/minus_" + kind.replace("<", "l").replace(">", "b") + ".npz", draws=(d - 12).astype(kind))
for kind in "u1 <u2 >u2 <u4 >u4 <u8 >u8".split():
    numpy.savez(folder + "/high_" + kind.replace("<", "l").replace(">", "b") + ".npz", draws=(d + 200).astype(kind))
numpy.savez(folder + "/flat.npz", d[0])
numpy.savez(folder + "/line.npz", d[0, :, 1] > 4)
numpy.savez(folder + "/four.npz", draws=numpy.zeros((1, 2, 3, 4)))
numpy.savez(folder + "/text.npz", draws=numpy.array(["a", "b"]))
numpy.savez(folder + "/scored.npz", draws=d, log_score=d[:, :, 0] / 2, variables=numpy.array(["a", "b", "c"]))
)");
  ASSERT_EQ(std::system(("/usr/bin/python3 " + folder.file("make.py") + " " + folder.file(".")).c_str()), 0);
  for (const char* name : {"int64", "uint8", "big", "uint16", "float", "int8", "fortran", "big2", "half"}) {
    for (const char* suffix : {".npz", "_c.npz"}) {
      const DrawFile file = read_draws(folder.file(name + std::string(suffix)));
      ASSERT_EQ(file.chains, 2U) << name;
      ASSERT_EQ(file.draws, 4U) << name;
      ASSERT_EQ(file.variables(), 3U) << name;
      for (std::size_t t = 0, i = 0; t < 4; ++t)
        for (std::size_t c = 0; c < 2; ++c)
          for (std::size_t v = 0; v < 3; ++v, ++i)
            ASSERT_EQ(number_at(file, i), static_cast<double>(c * 12 + t * 3 + v) + (*name == 'h' ? 0.5 : 0))
                << name;
    }
  }
  // Signs and high bits of every width, both orders of bytes.
  const auto expect_shifted = [&](const std::string& name, double shift) {
    const DrawFile file = read_draws(folder.file(name + ".npz"));
    for (std::size_t t = 0, i = 0; t < 4; ++t)
      for (std::size_t c = 0; c < 2; ++c)
        for (std::size_t v = 0; v < 3; ++v, ++i)
          ASSERT_EQ(number_at(file, i), static_cast<double>(c * 12 + t * 3 + v) + shift) << name;
  };
  for (const char* kind : {"i1", "li2", "bi2", "li4", "bi4", "li8", "bi8", "lf4", "bf8"})
    expect_shifted(std::string("minus_") + kind, -12);
  for (const char* kind : {"u1", "lu2", "bu2", "lu4", "bu4", "lu8", "bu8"})
    expect_shifted(std::string("high_") + kind, 200);
  const DrawFile flat = read_draws(folder.file("flat.npz"));
  EXPECT_EQ(flat.chains, 1U);
  EXPECT_EQ(flat.draws, 4U);
  EXPECT_EQ(number_at(flat, 4), 4);
  const DrawFile line = read_draws(folder.file("line.npz"));
  EXPECT_EQ(line.variables(), 1U);
  EXPECT_EQ(number_at(line, 1), 0);
  EXPECT_EQ(number_at(line, 2), 1);
  const DrawFile scored = read_draws(folder.file("scored.npz"));
  EXPECT_EQ(scored.variable_names, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(scored.log_scores[1], 6);
  EXPECT_THROW(read_draws(folder.file("four.npz")), Error);
  EXPECT_THROW(read_draws(folder.file("text.npz")), Error);
}

TEST(NetCdf, FollowsInferenceData) {
  if (!testing::python_has("netCDF4")) GTEST_SKIP() << "python3-netcdf4 is not installed";
  const TemporaryFolder folder;
  const auto writer = make_draw_writer(folder.file("draws.nc"), header_for(3));
  write_some(*writer, 50, 3);
  writer->finish();
  folder.write("check.py", R"(
import sys, netCDF4
f = netCDF4.Dataset(sys.argv[1])
p = f["posterior"]
assert p["x"].dimensions == ("chain", "draw", "variable") and p["x"].shape == (3, 50, 7) and p["x"].dtype == "u1"
assert p["chain"][:].tolist() == [0, 1, 2] and p["draw"][:].tolist() == list(range(50))
assert p["variable"][4] == "größe π"
assert p.dimensions["draw"].isunlimited()
assert p.inference_library == "drover" and p.created_at == "2026-01-01T00:00:00Z"
assert f["sample_stats"]["lp"].shape == (3, 50) and abs(f["sample_stats"]["lp"][2, 10] - 1) < 1e-12
assert f["observed_data"]["x"][:].tolist() == [1, 300] and f["observed_data"]["variable"][1] == "also seen"
g = netCDF4.Dataset(sys.argv[2], "w")
q = g.createGroup("posterior")
for n, s in ("chain", 2), ("draw", 5), ("k", 2), ("l", 3):
    q.createDimension(n, s)
q.createVariable("theta", "f8", ("chain", "draw", "k", "l"))[:] = 0.5
q.createVariable("n", "i8", ("chain", "draw"))[:] = 70000
g.close()
)");
  const std::string command = "/usr/bin/python3 " + folder.file("check.py") + " " + folder.file("draws.nc") +
                              " " + folder.file("other.nc");
  ASSERT_EQ(std::system(command.c_str()), 0);
  const DrawFile other = read_draws(folder.file("other.nc"));
  ASSERT_EQ(other.variables(), 7U);
  EXPECT_EQ(other.variable_names[4], "theta[1,1]");
  EXPECT_EQ(other.variable_names[6], "n");
  EXPECT_EQ(number_at(other, 5), 0.5);
  EXPECT_EQ(number_at(other, 6), 70000);
}

TEST(DrawsCsv, StatesByName) {
  const TemporaryFolder folder;
  const std::string path = folder.file("named.csv");
  DrawFileHeader header;
  header.variable_names = {"lawn", "count", "size"};
  header.max_cardinality = 3;
  header.log_scores = false;
  header.state_names = {{"wet, still", "=dry"}, {}, {"1", "2", "more"}};
  const auto writer = make_draw_writer(path, header);
  const Value draws[4][3] = {{0, 2, 2}, {1, 0, 0}, {0, 1, 1}, {1, 1, 2}};
  for (const auto& draw : draws) writer->append(0, draw);
  writer->set_metadata(R"({"warnings":["too short"]})");
  writer->finish();
  const DrawFile file = read_draws(path);
  // In the order of the model.
  const std::vector<std::uint8_t> expected{0, 2, 2, 1, 0, 0, 0, 1, 1, 1, 1, 2};
  EXPECT_EQ(std::get<std::vector<std::uint8_t>>(file.values), expected);
  const auto names = nlohmann::json::parse(file.metadata)["state_names"];
  EXPECT_EQ(names, nlohmann::json::parse(R"([["wet, still","=dry"],[],["1","2","more"]])"));
  // In that of the alphabet, =dry before wet, when only the table is left.
  const std::string text = folder.read("named.csv");
  folder.write("table.csv", text.substr(0, text.find('#')));
  const DrawFile table = read_draws(folder.file("table.csv"));
  const std::vector<std::uint8_t> by_alphabet{1, 2, 2, 0, 0, 0, 1, 1, 1, 0, 1, 2};
  EXPECT_EQ(std::get<std::vector<std::uint8_t>>(table.values), by_alphabet);
  EXPECT_EQ(nlohmann::json::parse(table.metadata)["state_names"],
            nlohmann::json::parse(R"([["=dry","wet, still"],[],["1","2","more"]])"));
  // A state that the comment does not know: somebody has edited one of the two.
  std::string edited = text;
  edited.replace(edited.find("\"more\""), 6, "\"most\"");
  folder.write("edited.csv", edited);
  EXPECT_EQ(nlohmann::json::parse(read_draws(folder.file("edited.csv")).metadata)["state_names"],
            nlohmann::json::parse(R"([["wet, still","=dry"],[],["1","2","more","most"]])"));
}

TEST(DrawsCsv, CarryTheWarningsOfTheRun) {
  const TemporaryFolder folder;
  for (const bool warned : {false, true}) {
    DrawFileHeader header;
    header.variable_names = {"a"};
    const auto writer = make_draw_writer(folder.file("draws.csv"), header);
    writer->append(0, std::vector<Value>{1}, -0.5);
    writer->set_metadata(warned ? R"({"command":"sample","warnings":["too short"]})"
                                : R"({"command":"sample","warnings":[]})");
    writer->finish();
    const DrawFile file = read_draws(folder.file("draws.csv"));
    EXPECT_EQ(file.draws, 1U);
    if (warned)
      EXPECT_EQ(nlohmann::json::parse(file.metadata)["warnings"][0], "too short");
    else
      EXPECT_EQ(folder.read("draws.csv"), "chain,draw,log_score,a\n0,0,-0.5,1\n");
  }
}

TEST(DrawsCsv, QuotedNumbersAreNumbersAndWordsWithoutQuotesAreFaults) {
  const TemporaryFolder folder;
  folder.write("quoted.csv", "x,y\n\"10\",\"1\"\n\"2\",\"0\"\n");
  const DrawFile file = read_draws(folder.file("quoted.csv"));
  EXPECT_EQ(std::get<std::vector<std::uint8_t>>(file.values), (std::vector<std::uint8_t>{10, 1, 2, 0}));
  EXPECT_EQ(file.metadata, "");
  for (const char* bad : {"x\nyes\nno\n", "x\n1\n\"no\"\n", "x\n\"yes\"\nno\n"}) {
    folder.write("bad.csv", bad);
    EXPECT_THROW(read_draws(folder.file("bad.csv")), Error) << bad;
  }
}

}  // namespace
}  // namespace drover
