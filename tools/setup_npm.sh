#!/usr/bin/env bash
# Installs the npm packages that package.json pins, into node_modules/; does nothing when they are there.
set -euo pipefail
cd "$(dirname "$0")/.."

pinned=$(sed -n 's/.*"echarts": *"\([^"]*\)".*/\1/p' package.json)
installed=$(sed -n 's/^ *"version": *"\([^"]*\)".*/\1/p' node_modules/echarts/package.json 2>/dev/null | head -n 1 || true)
if [ -n "$pinned" ] && [ "$pinned" = "$installed" ] && [ -s node_modules/echarts/dist/echarts.min.js ]; then
  exit 0
fi
if ! command -v npm >/dev/null; then
  echo "setup: npm is missing (Debian: apt-get install npm)" >&2
  exit 1
fi
npm install --no-package-lock --no-audit --no-fund --ignore-scripts --omit=dev --loglevel=error
