// Any bytes are either an image or bad_data; an image that was read is written and read again unchanged.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "drover/core/error.hpp"
#include "drover/image/image.hpp"
#include "target.hpp"

FUZZ_TARGET(image, data, size) {
  try {
    drover::GreyImage image = drover::parse_image({data, size}, "fuzz");
    if (image.size() > 10000) return 0;
    const std::string text = drover::encode_image(image, drover::ImageFormat::pgm);
    const drover::GreyImage again =
        drover::parse_image({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}, "again");
    if (again.width != image.width || again.height != image.height) std::abort();
  } catch (const drover::Error& error) {
    if (error.kind() != drover::ErrorKind::bad_data) throw;
  }
  return 0;
}
