"""The stubs say what the module has: mypy --strict and stubtest are clean."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")
TOP = Path(__file__).resolve().parents[2]


def run(*arguments, folder):
    result = subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, check=False, cwd=TOP,
                            env={**os.environ, "MYPY_CACHE_DIR": str(folder)})
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("mypy")


def test_mypy_strict(folder):
    run("mypy", "--strict", "--config-file", "pyproject.toml", "python/drover", folder=folder)


def test_stubtest(folder):
    run("mypy.stubtest", "--mypy-config-file", "pyproject.toml", "--allowlist", "python/tests/stubtest.allow", "drover._core",
        folder=folder)
