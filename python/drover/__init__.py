"""Sampling, inference and learning in discrete graphical models, with figures that say when to trust them.

>>> import drover as dv
>>> model = dv.Model({"rain": ["no", "yes"], "lawn": ["dry", "wet"]})
>>> model.factor(["rain"], [0.8, 0.2])
>>> model.factor(["rain", "lawn"], [[0.9, 0.1], [0.2, 0.8]])
>>> round(model.marginals({"lawn": "wet"})["rain", "yes"], 4)
0.6667
"""

from ._errors import (
    ConvergenceWarning,
    DataError,
    Error,
    InterruptedWarning,
    MisfitError,
    ReadError,
    StoppedError,
    UsageError,
    WriteError,
)
from ._core import (
    BayesNet,
    BestState,
    BestStates,
    BestValues,
    Diagnosis,
    Draws,
    HerdResult,
    Joint,
    LearnResult,
    LogZ,
    Marginals,
    Model,
    ModelInfo,
    RowMarginals,
    RunState,
    SamplingRun,
    __version__,
    diagnose,
    grid,
    herd,
    learn,
    methods,
    options,
    rbm,
    read,
)
from ._build import convert, from_bqm, from_networkx, ising, potts
from ._dynamic import DynamicMarginals, DynamicModel
from ._herding import Herding
from ._live import LivePage
from ._plots import trace as plot_trace

__all__ = [
    "BayesNet",
    "BestState",
    "BestStates",
    "BestValues",
    "ConvergenceWarning",
    "DataError",
    "Diagnosis",
    "Draws",
    "DynamicMarginals",
    "DynamicModel",
    "Error",
    "HerdResult",
    "Herding",
    "InterruptedWarning",
    "Joint",
    "LearnResult",
    "LivePage",
    "LogZ",
    "Marginals",
    "MisfitError",
    "Model",
    "ModelInfo",
    "ReadError",
    "RowMarginals",
    "RunState",
    "SamplingRun",
    "StoppedError",
    "UsageError",
    "WriteError",
    "__version__",
    "convert",
    "diagnose",
    "from_bqm",
    "from_networkx",
    "grid",
    "herd",
    "ising",
    "learn",
    "methods",
    "options",
    "plot_trace",
    "potts",
    "rbm",
    "read",
]
