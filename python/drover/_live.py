"""The live page of a model: in a frame of a notebook, or in a browser."""

from __future__ import annotations

import atexit
import html
import sys
import weakref
import webbrowser
from typing import Any

from . import _core
from ._errors import MisfitError

_pages: weakref.WeakSet[LivePage] = weakref.WeakSet()


class LivePage:
    """The live page of a model, served by this process to this machine alone until stop() or the end of Python.

    A notebook shows it in a frame.

    Attributes
    ----------
    address : str
        Opens the page in one browser; every use makes a new one.
    """

    def __init__(self, model: Any, port: int, height: int, host: str) -> None:
        if _core._LiveServer is None:
            raise MisfitError("this drover was built without the live page, which needs cpp-httplib (libcpp-httplib-dev)")
        self._server = _core._LiveServer(model, port)
        self._height, self._host = height, host
        _pages.add(self)

    @property
    def address(self) -> str:
        return self._server.address.replace("//127.0.0.1:", f"//{self._host}:", 1)

    @property
    def running(self) -> bool:
        """Whether it is served."""
        return self._server.running

    def stop(self) -> None:
        """End the page and whatever it runs."""
        self._server.stop()

    def _repr_html_(self) -> str:
        if not self.running:
            return "<p>The live page has ended.</p>"
        address = html.escape(self.address)
        return f'<iframe src="{address}" width="100%" height="{self._height}" style="border:1px solid #ccc"></iframe>'

    def __repr__(self) -> str:
        return f"<live page at {self.address}>" if self.running else "<live page, ended>"


@atexit.register
def _stop_all() -> None:
    for page in list(_pages):
        page.stop()


def explore(model: Any, *, port: int = 0, height: int = 700, host: str = "localhost", open: bool | None = None) -> LivePage:  # noqa: A002
    """Serve the live page of a model; outside of a notebook, open it in a browser."""
    page = LivePage(model, port, height, host)
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    in_notebook = shell is not None and type(shell).__name__ == "ZMQInteractiveShell"
    if open or (open is None and not in_notebook and sys.stdout is not None and sys.stdout.isatty()):
        webbrowser.open(page.address)
    return page
