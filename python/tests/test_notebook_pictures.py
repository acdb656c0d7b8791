"""What a notebook shows: networks with bars as SVG, without script or network."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import drover as dv


def svg_of(html):
    return ElementTree.fromstring(html[html.index("<svg"):html.rindex("</svg>") + 6])


SVG = "{http://www.w3.org/2000/svg}"


def test_a_network_is_drawn_with_its_bars(sprinkler):
    r = sprinkler.marginals({"lawn": "wet"})
    page = r._repr_html_()
    picture = svg_of(page)
    boxes = picture.findall(f"{SVG}g")
    assert len(boxes) == len(sprinkler)
    assert sum(box.get("class") == "seen" for box in boxes) == 1
    figures = [text.text for text in picture.iter(f"{SVG}text") if text.get("class") == "figure"]
    assert figures == [f"{100 * p:.1f}" if 0 < p < 1 else f"{100 * p:.0f}" for p in r.values]
    assert "good" in page and "<script" not in page and "http" not in page.replace("http://www.w3.org/2000/svg", "")


def test_a_model_shows_itself(sprinkler):
    assert len(svg_of(sprinkler._repr_html_()).findall(f"{SVG}g")) == len(sprinkler)
    assert "<svg" not in dv.grid(3, 3)._repr_html_()


def test_large_networks_and_queries_are_tables(sprinkler):
    net = dv.BayesNet()
    for k in range(61):
        net.add(f"x{k}", 2, [[0.5, 0.5], [0.1, 0.9]] if k else [0.3, 0.7], [f"x{k - 1}"] if k else None)
    assert "<table>" in net.marginals()._repr_html_() and "drover-network" not in net.marginals()._repr_html_()
    assert "<table>" in sprinkler.marginals(query=["rain"])._repr_html_()


def test_names_are_text():
    net = dv.BayesNet()
    net.add("<script>alert(1)</script>", ["<b>", "&"], [0.5, 0.5])
    for page in (net._repr_html_(), net.marginals()._repr_html_(), net.marginals(query=[0])._repr_html_()):
        assert "<script" not in page and "<b>" not in page.replace("<b>good</b>", "")


@pytest.mark.filterwarnings("ignore::drover.ConvergenceWarning")
def test_estimates_are_drawn_too(sprinkler):
    r = sprinkler.marginals(method="gibbs", sweeps=200, chains=4, burn_in=10)
    assert len(svg_of(r._repr_html_()).findall(f"{SVG}g")) == len(sprinkler)
    assert np.isfinite(r.values).all()
