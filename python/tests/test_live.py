"""The live page: served to this machine, ended with Python."""

import http.cookiejar
import json
import subprocess
import sys
import textwrap
import urllib.error
import urllib.request

import pytest

import drover as dv
from drover import _core

pytestmark = pytest.mark.skipif(_core._LiveServer is None, reason="built without the live page")


def browser():
    return urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))


@pytest.fixture
def page(sprinkler):
    page = sprinkler.explore(host="127.0.0.1", open=False)
    yield page
    page.stop()


def test_the_page_answers(page, sprinkler):
    someone = browser()
    first = page.address
    with someone.open(first, timeout=20) as answer:
        assert answer.status == 200 and b"<html" in answer.read().lower()
        assert "frame-ancestors http://localhost:*" in answer.headers["Content-Security-Policy"]
        assert "X-Frame-Options" not in answer.headers
    origin = first.split("/?")[0]
    lawn, wet = sprinkler.names.index("lawn"), [0.0, 1.0]
    request = urllib.request.Request(f"{origin}/api/marginals", json.dumps({"findings": [[lawn, wet]]}).encode(),
                                     {"Content-Type": "application/json", "Origin": origin})
    with someone.open(request, timeout=20) as answer:
        found = json.load(answer)
    expected = sprinkler.marginals({"lawn": "wet"})
    assert found["probabilities"][sprinkler.names.index("rain")] == pytest.approx(expected["rain"].tolist())
    # The address is good once, but whoever has been let in may load it again.
    with pytest.raises(urllib.error.HTTPError) as refused:
        browser().open(first, timeout=20)
    assert refused.value.code == 403
    refused.value.close()
    with someone.open(first, timeout=20) as answer:
        assert answer.status == 200
    assert page.address != first


def test_a_notebook_shows_a_frame(page):
    html = page._repr_html_()
    assert html.startswith("<iframe") and page.address.replace("&", "&amp;") in html
    assert "live page" in repr(page)


def test_it_ends(page):
    address = page.address
    assert page.running
    page.stop()
    page.stop()
    assert not page.running and "ended" in page._repr_html_() + repr(page)
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(address, timeout=5)


def test_python_ends_with_a_page_open():
    code = """
        import drover as dv
        page = dv.grid(30, 30, coupling=.3).explore(open=False)
        print(page.address)
    """
    result = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout.startswith("http://localhost:")


def test_a_model_may_change_meanwhile():
    net = dv.BayesNet()
    net.add("a", 2, [0.5, 0.5])
    page = net.explore(open=False)
    net.add("b", 2, [0.1, 0.9])
    del net
    assert page.running
    page.stop()
