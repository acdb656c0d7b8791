// The content of a checkpoint, past its checksum: numbers, vectors and strings, with sizes that may be wrong.
#include "drover/core/archive.hpp"

#include <array>

#include "readers.hpp"
#include "target.hpp"

FUZZ_TARGET(archive, data, size) {
  using namespace drover;
  if (size == 0) return 0;
  // The first byte says what is read in turn.
  LoadArchive archive(std::string(fuzz::as_text(data + 1, size - 1)));
  try {
    for (std::uint32_t turn = data[0]; !archive.at_end(); turn = turn * 5 + 1) {
      double number = 0;
      std::vector<float> numbers;
      std::string text;
      std::array<std::uint16_t, 3> fixed{};
      switch (turn % 4) {
        case 0:
          archive(number);
          break;
        case 1:
          archive(numbers);
          break;
        case 2:
          archive(text);
          break;
        default:
          archive(std::span<std::uint16_t>(fixed));
      }
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_data) throw;
  }
  return 0;
}
