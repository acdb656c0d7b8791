"""What the tests share: the command, models, and enumeration by NumPy as a second opinion."""

import itertools
import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

MODELS = Path(__file__).resolve().parents[2] / "models"
COMMAND = os.environ.get("DROVER_COMMAND", str(MODELS.parent / "build" / "bin" / "drover"))


def run_command(*arguments):
    """The JSON that the command prints."""
    result = subprocess.run([COMMAND, *map(str, arguments), "--json", "--quiet"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def enumerate_marginals(model):
    """Marginals and log Z from the log scores of every state."""
    states = np.array(list(itertools.product(*[range(k) for k in model.cardinalities])))
    scores = model.log_score(states)
    top = scores.max()
    weights = np.exp(scores - top)
    total = weights.sum()
    marginals = [np.bincount(states[:, v], weights, minlength=k) / total for v, k in enumerate(model.cardinalities)]
    return marginals, top + np.log(total)


@pytest.fixture
def sprinkler():
    import drover

    return drover.read(MODELS / "sprinkler.bif")
