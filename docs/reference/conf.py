"""Sphinx: the reference of the Python package, from its docstrings. `make reference` builds it into build/reference."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "build" / "python"))
project = "drover"
extensions = ["sphinx.ext.autodoc", "numpydoc"]
numpydoc_show_class_members = False
autodoc_default_options = {"members": True, "inherited-members": False, "undoc-members": True}
html_theme = "alabaster"
