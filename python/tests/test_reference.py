"""The reference is made from the docstrings without a warning."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sphinx")
pytest.importorskip("numpydoc")
SOURCE = Path(__file__).resolve().parents[2] / "docs" / "reference"


def test_the_reference_is_built_without_warnings(tmp_path):
    result = subprocess.run([sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "-d", tmp_path / "trees", SOURCE, tmp_path / "html"],
                            capture_output=True, text=True, check=False, timeout=500)
    assert result.returncode == 0 and not result.stderr, result.stderr
    page = (tmp_path / "html" / "index.html").read_text()
    for name in ("drover.Model.marginals", "drover.sklearn.CRFTagger.fit", "drover.BayesNet.add", "drover.diagnose"):
        assert f'id="{name}"' in page, name
