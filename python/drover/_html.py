"""Answers in notebooks: static HTML and SVG, without script or network."""

from __future__ import annotations

import html
import tempfile
import webbrowser
from pathlib import Path
from typing import Any

_MOST_ROWS = 30
_MOST_NODES = 60
_COLOURS = {"good": "#2a7", "caution": "#c80", "bad": "#c33"}
_STYLE = "font-family:sans-serif;font-size:13px"


def _verdict(answer: Any) -> str:
    colour = _COLOURS[answer.verdict]
    because = f", chosen because {html.escape(answer.because)}" if answer.because else ""
    return (
        f'<p style="border-left:4px solid {colour};padding-left:8px"><b>{answer.verdict}</b>: '
        f"{html.escape(answer.verdict_text)}<br><small>method {html.escape(answer.method)}{because}; "
        f"{answer.seconds:.3g} s</small></p>"
    )


def _bar(probability: float) -> str:
    return (
        '<svg width="102" height="12" style="vertical-align:middle"><rect width="102" height="12" fill="#eee"/>'
        f'<rect x="1" y="1" width="{100 * probability:.1f}" height="10" fill="#47a"/></svg>'
    )


def _marginals(answer: Any) -> str:
    shown = list(answer.query) or range(answer.variables)
    names = answer.model.names if len(shown) <= 10**5 else [str(v) for v in range(answer.variables)]
    rows = []
    for v in list(shown[:_MOST_ROWS]):
        distribution, states = answer[v], answer.model.states(v)
        first = int(answer.offsets[v])
        for k, probability in enumerate(distribution[:12]):
            error = "" if answer.exact or answer.mcse[first + k] == 0 else f" ± {answer.mcse[first + k]:.1g}"
            rows.append(
                f"<tr><td>{html.escape(names[v]) if k == 0 else ''}</td><td>{html.escape(states[k])}</td>"
                f"<td>{_bar(probability)}</td><td>{probability:.4f}{error}</td></tr>"
            )
    more = f"<p>... and {len(shown) - _MOST_ROWS} more variables</p>" if len(shown) > _MOST_ROWS else ""
    return f"<table>{''.join(rows)}</table>{more}"


def _is_drawn(model: Any) -> bool:
    return bool(model.is_network) and 0 < len(model) <= _MOST_NODES


def _picture(svg: str) -> str:
    return f'<div style="overflow-x:auto">{svg}</div>'


def _text(thing: Any) -> str:
    return f"<pre>{html.escape(repr(thing))}</pre>"


def of_answer(answer: Any) -> str:
    """What a notebook shows of an answer."""
    if type(answer).__name__ != "Marginals":
        return _text(answer)
    drawn = not answer.query and _is_drawn(answer.model)
    body = _picture(answer._network_svg()) if drawn else _marginals(answer)
    return f'<div style="{_STYLE}">{body}{_verdict(answer)}</div>'


def of_model(model: Any) -> str:
    """What a notebook shows of a model."""
    return _picture(model._network_svg()) + _text(model) if _is_drawn(model) else _text(model)


def report(answer: Any, path: Any = None, *, open: bool = True) -> str:  # noqa: A002
    """Write the page of an answer; open it in a browser."""
    if path is None:
        with tempfile.NamedTemporaryFile("w", suffix=".html", prefix="drover-", delete=False) as file:
            path = file.name
    target = Path(path)
    target.write_text(answer._page(), encoding="utf-8")
    if open:
        webbrowser.open(target.resolve().as_uri())
    return str(target)
