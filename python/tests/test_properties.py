"""The same random model by arrays, sparse matrix, dicts, networkx, BQM and factors has the enumerated marginals."""

import numpy as np
import pytest

hypothesis = pytest.importorskip("hypothesis")
from conftest import enumerate_marginals  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

import drover as dv  # noqa: E402

NUMBERS = st.floats(-3, 3, allow_nan=False, width=32)


@st.composite
def spins(draw):
    size = draw(st.integers(2, 6))
    pairs = [(i, j) for i in range(size) for j in range(i)]
    chosen = draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=len(pairs), unique=True))
    return np.array(chosen), np.array([draw(NUMBERS) for _ in chosen]), np.array([draw(NUMBERS) for _ in range(size)])


def by_hand(edges, couplings, fields):
    """Enumeration in NumPy, of nothing but the definition."""
    n = len(fields)
    s = 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1) - 1
    scores = s @ fields + (s[:, edges[:, 0]] * s[:, edges[:, 1]]) @ couplings
    p = np.exp(scores - scores.max())
    p /= p.sum()
    return p @ (s == 1)


def roads(edges, couplings, fields):
    n = len(fields)
    yield "arrays", dv.ising(edges, couplings, fields)
    matrix = np.zeros((n, n))
    matrix[edges[:, 0], edges[:, 1]] = matrix[edges[:, 1], edges[:, 0]] = couplings
    yield "matrix", dv.ising(matrix, fields)
    sparse = pytest.importorskip("scipy.sparse")
    yield "sparse", dv.ising(sparse.coo_matrix(matrix), fields)
    yield "dicts", dv.ising({tuple(map(int, e)): j for e, j in zip(edges, couplings)}, dict(enumerate(fields)))
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_nodes_from((v, {"bias": h}) for v, h in enumerate(fields))
    graph.add_weighted_edges_from((a, b, j) for (a, b), j in zip(edges, couplings))
    yield "networkx", dv.from_networkx(graph)
    yield "bqm", dv.from_bqm(dict(enumerate(-fields)), {tuple(map(int, e)): -j for e, j in zip(edges, couplings)}, vartype="SPIN")
    model = dv.Model(n)
    model.factors(edges, [[[j, -j], [-j, j]] for j in couplings], log=True)
    model.factors(np.arange(n)[:, None], np.stack([-fields, fields], axis=1), log=True)
    yield "factors", model


@settings(max_examples=60, deadline=None, derandomize=True)
@given(spins())
def test_every_road_leads_to_the_same_marginals(model):
    expected = by_hand(*model)
    for name, made in roads(*model):
        np.testing.assert_allclose(made.marginals(method="exact").values[1::2], expected, rtol=1e-9, atol=1e-12, err_msg=name)


@st.composite
def tables(draw):
    cardinalities = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    model = dv.Model({f"v{k}": c for k, c in enumerate(cardinalities)})
    for _ in range(draw(st.integers(1, 5))):
        scope = draw(st.lists(st.integers(0, len(cardinalities) - 1), min_size=1, max_size=3, unique=True))
        shape = [cardinalities[v] for v in scope]
        entries = draw(st.lists(st.floats(0.0625, 8, width=32), min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
        model.factor(scope, np.reshape(entries, shape))
    return model


@settings(max_examples=60, deadline=None, derandomize=True)
@given(tables())
def test_tables_have_the_enumerated_answers(model):
    expected, log_z = enumerate_marginals(model)
    np.testing.assert_allclose(model.marginals().values, np.concatenate(expected), rtol=1e-9, atol=1e-12)
    assert float(model.logz()) == pytest.approx(log_z, rel=1e-9, abs=1e-9)
    best = model.map()
    assert model.log_score(best.assignment) == pytest.approx(best.log_score)
