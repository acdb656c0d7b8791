// An image without its noise: examples/denoise models/rings.pbm
#include <cstdio>
#include <drover/drover.hpp>

int main(int, char** arguments) {
  const drover::GreyImage image = drover::read_image(arguments[1]);
  const drover::Denoised clean = drover::denoise(image, {.noise = 1});
  std::printf("noise of %.2f; squared error %.3f, before %.3f\n", clean.sigma, clean.error,
              clean.error_before);
  return clean.error < clean.error_before ? 0 : 1;
}
