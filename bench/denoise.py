#!/usr/bin/python3
"""drover denoise beside scipy's filters, on the photographs of scikit-image: bench/denoise.py DROVER

Debian: python3-skimage. PSNR in dB for noise of two sizes, clipped and rounded to 8 bits as a file does.
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


def main():
    drover = sys.argv[1]
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
