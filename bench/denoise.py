#!/usr/bin/python3
"""drover denoise beside scipy's filters, on pictures of scikit-image: bench/denoise.py DROVER [PICTURE...]

Debian: python3-skimage. Photographs: PSNR in dB for noise of two sizes, clipped and rounded to 8 bits as a file does. Black
and white (text, a scanned page, a shape, and PICTUREs): wrong pixels in % where a share of them was flipped.
"""
import json
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import scipy.ndimage
import scipy.signal
import skimage
import skimage.filters
import skimage.io

warnings.filterwarnings("ignore")
FOLDER = os.path.join(os.path.dirname(skimage.__file__), "data")


def psnr(a, b):
    return 10 * np.log10(1 / np.mean((a - b) ** 2))


def photograph(name):
    image = skimage.io.imread(os.path.join(FOLDER, name))
    if image.ndim == 3:
        image = image[..., :3] @ [0.2126, 0.7152, 0.0722]
    return image.astype(float) / 255


def denoised(drover, noisy, *options):
    with tempfile.TemporaryDirectory() as folder:
        before, after = os.path.join(folder, "before.png"), os.path.join(folder, "after.png")
        skimage.io.imsave(before, (255 * noisy).round().astype("uint8"))
        run = subprocess.run([drover, "denoise", before, after, "--json", "--quiet", *options], capture_output=True, text=True, check=True)
        return skimage.io.imread(after) / 255.0, json.loads(run.stdout)


def black_and_white(name):
    image = skimage.io.imread(name if os.path.exists(name) else os.path.join(FOLDER, name))
    if image.dtype == bool:
        return image
    image = image[..., :3].mean(2) if image.ndim == 3 else image
    level = skimage.filters.threshold_local(image, 35, offset=10) if name == "page.png" else skimage.filters.threshold_otsu(image)
    return image >= level


def flips(drover, names):
    print("picture, flipped % | Gauss (best of 8 widths), median 3 | drover, seconds; wrong pixels in %")
    for name in names:
        clean = black_and_white(name)
        for share in (0.01, 0.02, 0.05, 0.1, 0.2):
            seen = clean ^ (np.random.default_rng(7).random(clean.shape) < share)
            gauss = min(np.mean((scipy.ndimage.gaussian_filter(seen.astype(float), width) > 0.5) != clean)
                        for width in (0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.5))
            median = np.mean(scipy.ndimage.median_filter(seen, 3) != clean)
            ours, result = denoised(drover, seen.astype(float))
            wrong = np.mean((ours > 0.5) != clean)
            print(os.path.basename(name), f"{100 * share:.0f} | {100 * gauss:.2f} {100 * median:.2f} | {100 * wrong:.2f} {result['seconds']:.2f}", flush=True)


def main():
    drover = sys.argv[1]
    flips(drover, ["text.png", "page.png", "horse.png", *sys.argv[2:]])
    print("image, noise | noisy, Wiener 3, Wiener 5, Gauss (best of 4 widths), median 3 | drover, seconds")
    for name in ("camera.png", "coins.png", "coffee.png", "grass.png", "astronaut.png", "moon.png"):
        clean = photograph(name)
        for sigma in (0.05, 0.1):
            noisy = np.clip(clean + sigma * np.random.default_rng(0).normal(size=clean.shape), 0, 1)
            others = [noisy, scipy.signal.wiener(noisy, 3), scipy.signal.wiener(noisy, 5),
                      max((scipy.ndimage.gaussian_filter(noisy, width) for width in (0.6, 0.8, 1, 1.3)), key=lambda x: psnr(x, clean)),
                      scipy.ndimage.median_filter(noisy, 3)]
            ours, result = denoised(drover, noisy, "--levels", "256")
            print(name, sigma, "|", *(f"{psnr(x, clean):.2f}" for x in others), "|", f"{psnr(ours, clean):.2f} {result['seconds']:.2f}")


if __name__ == "__main__":
    main()
