"""Plots by matplotlib, which is imported only here."""

from __future__ import annotations

from typing import Any


def marginals(answer: Any, ax: Any = None) -> Any:
    """Bars of the marginals: a row for each variable, a part of it for each state."""
    import matplotlib.pyplot as plt

    ax = ax or plt.gca()
    shown = (list(answer.query) or list(range(answer.variables)))[:40]
    names = answer.names
    for row, v in enumerate(shown):
        left = 0.0
        for k, probability in enumerate(answer[v]):
            ax.barh(row, probability, left=left, color=f"C{k % 10}")
            left += float(probability)
    ax.set_yticks(range(len(shown)), [names[v] for v in shown])
    ax.invert_yaxis()
    ax.set_xlabel("probability")
    return ax


def trace(draws: Any, ax: Any = None) -> Any:
    """The log score of each chain over its draws."""
    import matplotlib.pyplot as plt

    ax = ax or plt.gca()
    for chain in draws.log_scores[:16]:
        ax.plot(chain, linewidth=0.7)
    ax.set_xlabel("draw")
    ax.set_ylabel("log score")
    return ax
