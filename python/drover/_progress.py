"""Who looks on while a run goes on: a line on a terminal, a table in a notebook, nobody in a pipe."""

from __future__ import annotations

import sys
from typing import Any

from ._core import _rhat_text


def _facts(progress: dict[str, Any]) -> list[str]:
    facts = [f"{progress['seconds']:.1f} s"]
    if progress["fraction"] is not None:
        facts.insert(0, f"{100 * progress['fraction']:.0f} %")
    if progress["sweeps"]:
        facts.append(f"{progress['sweeps']} sweeps")
    if progress["rhat_max"] is not None:
        facts.append("R-hat " + _rhat_text(progress["rhat_max"]))
    return facts


class TerminalLine:
    """Rewrites one line of the standard error output."""

    def __init__(self) -> None:
        self.width = 0

    def __call__(self, progress: dict[str, Any]) -> None:
        text = f"{progress['phase']}: " + ", ".join(_facts(progress))
        sys.stderr.write("\r" + text.ljust(self.width))
        sys.stderr.flush()
        self.width = len(text)

    def close(self) -> None:
        if self.width:
            sys.stderr.write("\r" + " " * self.width + "\r")
            sys.stderr.flush()


class NotebookTable:
    """Updates one display of the cell."""

    def __init__(self) -> None:
        from IPython.display import display

        self.cells: list[str] = []
        self.handle = display(self, display_id=True)

    def _repr_html_(self) -> str:
        return "<table><tr>" + "".join(f"<td>{cell}</td>" for cell in self.cells) + "</tr></table>"

    def __repr__(self) -> str:
        return ", ".join(self.cells)

    def __call__(self, progress: dict[str, Any]) -> None:
        self.cells = [str(progress["phase"]), *_facts(progress)]
        self.handle.update(self)

    def close(self) -> None:
        self.cells = []
        self.handle.update(self)


def reporter() -> Any:
    """Called when a run has gone on for half a second."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None and type(shell).__name__ == "ZMQInteractiveShell":
        return NotebookTable()
    return TerminalLine() if sys.stderr.isatty() else None
