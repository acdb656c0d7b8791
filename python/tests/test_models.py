"""The same model by every road has the same answers."""

import copy
import itertools

import numpy as np
import pytest
from conftest import MODELS, enumerate_marginals

import drover as dv

EDGES = np.array([[0, 1], [1, 2], [2, 3], [0, 3], [1, 3]])
COUPLINGS = np.array([0.5, -0.3, 0.8, 0.1, -0.7])
FIELDS = np.array([0.2, 0.0, -0.4, 0.1])


def marginals_of(model):
    answer = model.marginals(method="exact")
    assert answer.exact
    return answer.values


def spin_marginals(couplings, fields):
    """By hand: p(s) over all spins."""
    weights, ones = [], []
    for s in itertools.product([-1, 1], repeat=len(fields)):
        energy = sum(j * s[a] * s[b] for (a, b), j in couplings.items()) + float(np.dot(fields, s))
        weights.append(np.exp(energy))
        ones.append([x == 1 for x in s])
    p = np.array(weights) @ np.array(ones) / np.sum(weights)
    return np.stack([1 - p, p], axis=1).ravel()


EXPECTED = spin_marginals({tuple(e): j for e, j in zip(EDGES, COUPLINGS)}, FIELDS)


def matrix():
    full = np.zeros((4, 4))
    for (a, b), j in zip(EDGES, COUPLINGS):
        full[a, b] = full[b, a] = j
    return full


def test_edges():
    np.testing.assert_allclose(marginals_of(dv.ising(EDGES, COUPLINGS, FIELDS)), EXPECTED, rtol=1e-12)


@pytest.mark.parametrize("part", [lambda m: m, np.triu, np.tril])
def test_dense_matrix(part):
    np.testing.assert_allclose(marginals_of(dv.ising(part(matrix()), FIELDS)), EXPECTED, rtol=1e-12)


@pytest.mark.parametrize("kind", ["csr_matrix", "coo_matrix", "csc_array"])
def test_sparse_matrix(kind):
    sparse = pytest.importorskip("scipy.sparse")
    np.testing.assert_allclose(marginals_of(dv.ising(getattr(sparse, kind)(matrix()), FIELDS)), EXPECTED, rtol=1e-12)


def test_wrong_matrices_are_named():
    lopsided = matrix()
    lopsided[0, 1] += 1
    with pytest.raises(dv.UsageError, match="symmetric or triangular"):
        dv.ising(lopsided)
    with pytest.raises(dv.UsageError, match="zeros on the diagonal"):
        dv.ising(matrix() + np.eye(4))


def test_dicts():
    names = "abcd"
    couplings = {(names[a], names[b]): j for (a, b), j in zip(EDGES, COUPLINGS)}
    model = dv.ising(couplings, dict(zip(names, FIELDS)))
    assert model.names == list(names)
    np.testing.assert_allclose(marginals_of(model), EXPECTED, rtol=1e-12)


def test_networkx():
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    for v, h in enumerate(FIELDS):
        graph.add_node(f"n{v}", bias=h)
    for (a, b), j in zip(EDGES, COUPLINGS):
        graph.add_edge(f"n{a}", f"n{b}", weight=j)
    model = dv.from_networkx(graph)
    assert model.names == ["n0", "n1", "n2", "n3"]
    np.testing.assert_allclose(marginals_of(model), EXPECTED, rtol=1e-12)
    np.testing.assert_allclose(marginals_of(dv.convert(graph)), EXPECTED, rtol=1e-12)
    graph.add_edge("n0", "n2")
    with pytest.raises(dv.DataError, match="n0-n2 has no attribute weight"):
        dv.from_networkx(graph)


def test_factor_by_factor():
    model = dv.Model({f"v{i}": ["off", "on"] for i in range(4)})
    for (a, b), j in zip(EDGES, COUPLINGS):
        model.factor([f"v{a}", b], np.exp([[j, -j], [-j, j]]))
    for v, h in enumerate(FIELDS):
        model.factor(v, [-h, h], log=True)
    np.testing.assert_allclose(marginals_of(model), EXPECTED, rtol=1e-12)


def test_many_factors_at_once():
    tables = np.exp([[[j, -j], [-j, j]] for j in COUPLINGS])
    model = dv.Model(4)
    model.factors(EDGES, tables)
    model.factors([[v] for v in range(4)], [[-h, h] for h in FIELDS], log=True)
    np.testing.assert_allclose(marginals_of(model), EXPECTED, rtol=1e-12)
    tied = dv.Model(4)
    tied.factors(EDGES, tables[0])
    same = dv.ising(EDGES, COUPLINGS[0])
    np.testing.assert_allclose(marginals_of(tied), marginals_of(same), rtol=1e-12)


@pytest.mark.parametrize("beta", [1.0, 0.3])
def test_bqm_of_dicts(beta):
    linear = {"a": 0.5, "b": -1.0, "c": 0.25}
    quadratic = {("a", "b"): 1.5, ("b", "c"): -0.75}
    for vartype, values in (("SPIN", [-1, 1]), ("BINARY", [0, 1])):
        model = dv.from_bqm(linear, quadratic, vartype=vartype, offset=0.7, beta=beta)
        weights = {}
        for x in itertools.product(values, repeat=3):
            at = dict(zip("abc", x))
            energy = 0.7 + sum(h * at[v] for v, h in linear.items()) + sum(q * at[u] * at[v] for (u, v), q in quadratic.items())
            weights[x] = np.exp(-beta * energy)
        total = sum(weights.values())
        expected = [sum(w for x, w in weights.items() if x[v] == values[1]) / total for v in range(3)]
        np.testing.assert_allclose(marginals_of(model)[1::2], expected, rtol=1e-12)
        assert float(model.logz()) == pytest.approx(np.log(total), rel=1e-12)


def test_bqm_by_its_attributes():
    class Bqm:  # as dimod's objects look
        linear, quadratic, offset = {0: 1.0, 1: -0.5}, {(0, 1): 0.25}, 2.0

        class vartype:
            name = "SPIN"

    same = dv.from_bqm({0: 1.0, 1: -0.5}, {(0, 1): 0.25}, vartype="SPIN", offset=2.0)
    np.testing.assert_array_equal(marginals_of(dv.from_bqm(Bqm())), marginals_of(same))
    np.testing.assert_array_equal(marginals_of(dv.convert(Bqm())), marginals_of(same))
    with pytest.raises(dv.UsageError, match="found tuple"):
        dv.from_bqm(({0: 1.0}, {}))
    with pytest.raises(dv.UsageError, match="vartype"):
        dv.from_bqm({0: 1.0}, {})


def sprinkler_by_hand():
    net = dv.BayesNet()
    net.add("season", ["dry", "rainy"], [0.6, 0.4])
    net.add("rain", ["no", "yes"], [[0.9, 0.1], [0.4, 0.6]], parents=["season"])
    net.add("lawn", ["dry", "wet", "flooded"], [[[0.9, 0.1, 0.0], [0.3, 0.6, 0.1]], [[0.8, 0.2, 0.0], [0.1, 0.5, 0.4]]],
            parents=["season", "rain"])
    return net


def test_bayesian_network():
    net = sprinkler_by_hand()
    assert net.is_network
    p_rain = 0.6 * 0.1 + 0.4 * 0.6
    assert net.marginals()["rain", "yes"] == pytest.approx(p_rain)
    assert float(net.logz()) == pytest.approx(0, abs=1e-12)
    flooded = 0.6 * 0.1 * 0.1 + 0.4 * 0.6 * 0.4
    assert net.marginals({"lawn": "flooded"})["season", "rainy"] == pytest.approx(0.4 * 0.6 * 0.4 / flooded)


def test_a_row_that_does_not_sum_to_one_is_named():
    net = sprinkler_by_hand()
    with pytest.raises(dv.DataError, match=r"P\(mud \| rain=yes, lawn=wet\) sums to 0.9"):
        table = np.full((2, 3, 2), 0.5)
        table[1, 1] = [0.5, 0.4]
        net.add("mud", 2, table, parents=["rain", "lawn"])
    assert net.names == ["season", "rain", "lawn"]
    with pytest.raises(dv.UsageError, match="already"):
        net.add("rain", 2, [0.5, 0.5])
    with pytest.raises(dv.UsageError, match=r'unknown variable "rian"; did you mean "rain"'):
        net.add("mud", 2, [[1, 0], [0, 1]], parents=["rian"])
    with pytest.raises(dv.UsageError, match=r"expected a table of shape \(2, 2\), found \(3, 2\)"):
        net.add("mud", 2, [[1, 0], [0, 1], [0, 1]], parents=["rain"])


class Cpd:
    def __init__(self, variables, values, states):
        self.variable, self.variables, self.values, self.state_names = variables[0], variables, np.array(values), states
        self.cardinality = np.array(self.values.shape)


STATES = {"season": ["dry", "rainy"], "rain": ["no", "yes"], "lawn": ["dry", "wet", "flooded"]}
SEASON, RAIN = [0.6, 0.4], [[0.9, 0.1], [0.4, 0.6]]
LAWN = np.array([[[0.9, 0.1, 0.0], [0.3, 0.6, 0.1]], [[0.8, 0.2, 0.0], [0.1, 0.5, 0.4]]])


class Pgmpy:
    """As pgmpy's Bayesian networks look: the variable is the first axis, its parents follow."""

    def nodes(self):
        return ["lawn", "rain", "season"]

    def get_cpds(self):
        return [Cpd(["lawn", "rain", "season"], LAWN.transpose(2, 1, 0), STATES), Cpd(["rain", "season"], np.transpose(RAIN), STATES),
                Cpd(["season"], SEASON, STATES)]


class PgmpyMarkov:
    def get_factors(self):
        return [Cpd(["lawn", "rain", "season"], LAWN.transpose(2, 1, 0), STATES), Cpd(["rain", "season"], np.transpose(RAIN), STATES),
                Cpd(["season"], SEASON, STATES)]


class Agrum:
    """As pyAgrum's networks look: a table's names are reversed against the axes of its array."""

    def topologicalOrder(self):
        return [0, 1, 2]

    def variable(self, node):
        class Variable:
            def name(self):
                return ["season", "rain", "lawn"][node]

            def labels(self):
                return tuple(STATES[self.name()])

        return Variable()

    def cpt(self, node):
        class Table:
            names = [("season",), ("rain", "season"), ("lawn", "rain", "season")][node]

            def toarray(self):
                return np.array([SEASON, RAIN, LAWN][node])

        return Table()


@pytest.mark.parametrize("network", [Pgmpy(), PgmpyMarkov(), Agrum()])
def test_networks_of_other_packages(network):
    model, expected = dv.convert(network), sprinkler_by_hand().marginals({"lawn": "wet"})
    answer = model.marginals({"lawn": "wet"})
    assert model.states("lawn") == STATES["lawn"]
    for name in STATES:
        np.testing.assert_allclose(answer[name], expected[name], rtol=1e-12)


def test_a_long_chain_of_another_package():
    """Deeper than Python's stack, the last variable first; and one that ends in itself."""
    n = 3000
    cpds = [Cpd([f"x{k}", f"x{k - 1}"] if k else ["x0"], [[0.9, 0.2], [0.1, 0.8]] if k else [0.3, 0.7], {}) for k in range(n)]

    class Chain:
        def nodes(self):
            return [cpd.variable for cpd in reversed(cpds)]

        def get_cpds(self):
            return cpds

    answer = dv.convert(Chain()).marginals()
    p = 0.7
    for k in range(n):
        assert answer[f"x{k}"][1] == pytest.approx(p)
        p = 0.8 * p + 0.1 * (1 - p)
    cpds[0] = Cpd(["x0", "x5"], [[0.9, 0.2], [0.1, 0.8]], {})
    with pytest.raises(dv.DataError, match="among its own ancestors"):
        dv.convert(Chain())


def test_what_cannot_be_converted_is_said():
    with pytest.raises(dv.UsageError, match="cannot convert a int"):
        dv.convert(3)


def test_rbm_and_grid_and_potts():
    weights, b, c = np.array([[0.5, -1.0], [0.3, 0.2], [-0.4, 0.9]]), [0.1, -0.2, 0.3], [0.4, -0.5]
    model = dv.rbm(weights, b, c)
    x = np.array([1, 0, 1, 0, 1])
    assert model.log_score(x) == pytest.approx(weights[[0, 2], 1].sum() + 0.4 - 0.5)
    grid = dv.grid(3, 2, coupling=0.4, field=0.1)
    same = dv.ising([[0, 1], [1, 2], [3, 4], [4, 5], [0, 3], [1, 4], [2, 5]], 0.4, 0.1)
    np.testing.assert_allclose(marginals_of(grid), marginals_of(same), rtol=1e-12)
    potts = dv.potts([[0, 1], [1, 2]], [0.5, -0.2], states=3, fields=[[0, 1, 2], [0, 0, 0], [1, 0, 0]])
    assert potts.log_score([2, 2, 0]) == pytest.approx(2 + 0.5 + 1)
    expected, log_z = enumerate_marginals(potts)
    np.testing.assert_allclose(marginals_of(potts), np.concatenate(expected), rtol=1e-12)
    assert float(potts.logz()) == pytest.approx(log_z, rel=1e-12)


def test_gates():
    model = dv.Model({"flu": 2, "cold": 2, "fever": 2})
    model.factor("flu", [0.9, 0.1])
    model.factor("cold", [0.8, 0.2])
    model.gate("noisy-or", ["flu", "cold", "fever"], [0.8, 0.3], leak=0.01)
    off = 0.99 * (0.9 + 0.1 * 0.2) * (0.8 + 0.2 * 0.7)
    assert model.marginals()["fever", 0] == pytest.approx(off)
    counts = dv.Model(4)
    counts.gate("count", [0, 1, 2, 3], [2, 2])
    np.testing.assert_allclose(counts.marginals().values, 0.5)
    with pytest.raises(dv.UsageError, match="unknown gate xor"):
        counts.gate("xor", [0, 1, 2])


@pytest.mark.parametrize("name", ["sprinkler.bif", "grid-3x3.uai", "colours.fg", "triangle.coo", "xor.uai"])
def test_files(name, tmp_path):
    model = dv.read(MODELS / name)
    model.write(tmp_path / "model.uai.gz")
    again = dv.read(tmp_path / "model.uai.gz")
    np.testing.assert_allclose(marginals_of(model), marginals_of(again), rtol=1e-14)
    expected, _ = enumerate_marginals(model)
    np.testing.assert_allclose(marginals_of(model), np.concatenate(expected), rtol=1e-10)


def test_editing_a_model_leaves_results_and_copies_alone():
    model = dv.ising(EDGES, COUPLINGS, FIELDS)
    answer, other = model.marginals(), copy.copy(model)
    model.factor(0, [0.0, 1.0])
    assert model.factor_count == other.factor_count + 1
    assert answer.model.factor_count == other.factor_count
    np.testing.assert_allclose(marginals_of(other), EXPECTED, rtol=1e-12)
    assert model.marginals()[0, 1] == 1


def test_questions_do_not_change_the_model():
    model = sprinkler_by_hand()
    before = model.marginals().values.copy()
    model.marginals({"lawn": "wet"})
    model.map({"rain": "yes"})
    np.testing.assert_array_equal(model.marginals().values, before)


@pytest.mark.parametrize("wrong, words", [
    (lambda: dv.Model({"x": 0}), "expected 1 to 65535 states"),
    (lambda: dv.ising([[0, 1]], [1.0, 2.0]), "couplings: expected 1 numbers or one, found 2"),
    (lambda: dv.ising([[0, 5]], 1.0, variables=3), "variable 5 is out of range"),
    (lambda: dv.ising([[0.5, 1.5], [1, 2], [2, 3]], 1.0), "expected an array of whole numbers"),
    (lambda: dv.Model(2).factor([0, 1], [[1, -1], [1, 1]]), "expected entries of 0 or more, found -1"),
    (lambda: dv.Model(2).factor([0, "b"], np.ones((2, 2))), "the model has no names"),
    (lambda: dv.Model(2).log_score([0, 2]), "out of range"),
    (lambda: dv.from_bqm({}, {}, vartype="SPINS"), "vartype=SPINS: expected SPIN or BINARY"),
])
def test_wrong_models(wrong, words):
    with pytest.raises(dv.UsageError, match=words):
        wrong()
