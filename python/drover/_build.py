"""Models from what people have: arrays, sparse matrices, dicts, graphs, binary quadratic models, networks of other packages.

Everything here rearranges numbers; the models themselves are made by drover._core.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._core import BayesNet, Model
from ._errors import DataError, UsageError


def _is_sparse(matrix: Any) -> bool:
    return hasattr(matrix, "tocoo")


def _is_matrix(edges: Any) -> bool:
    """A square array of floats holds couplings; whole numbers in two columns are edges."""
    if _is_sparse(edges):
        return True
    array = np.asarray(edges)
    return array.ndim == 2 and array.shape[0] == array.shape[1] and (array.dtype.kind == "f" or array.shape[1] != 2)


def _pairs_of_matrix(matrix: Any) -> tuple[NDArray[Any], NDArray[Any], int]:
    """Each pair once, of a matrix that is symmetric or triangular, with zeros on its diagonal."""
    if _is_sparse(matrix):
        entries = matrix.tocoo()
        if entries.shape[0] != entries.shape[1]:
            raise UsageError(f"couplings: expected a square matrix, found shape {entries.shape}")
        rows, columns, values = entries.row.astype(np.int64), entries.col.astype(np.int64), entries.data
        size = entries.shape[0]
    else:
        dense = np.asarray(matrix, dtype=float)
        rows, columns = np.nonzero(dense)
        values, size = dense[rows, columns], dense.shape[0]
    if np.any((rows == columns) & (values != 0)):
        raise UsageError("couplings: expected zeros on the diagonal; fields are a separate argument")
    below, above = rows > columns, rows < columns
    if not below.any() or not above.any():
        kept = below | above
        return np.stack([rows[kept], columns[kept]], axis=1), np.asarray(values[kept], dtype=float), size

    def sorted_entries(kept: NDArray[Any], first: NDArray[Any], second: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        keys, order = np.unique(first[kept] * size + second[kept], return_inverse=True)
        return keys, np.bincount(order, weights=values[kept], minlength=len(keys))

    keys, upper = sorted_entries(above, rows, columns)
    mirrored, lower = sorted_entries(below, columns, rows)
    if not np.array_equal(keys, mirrored) or not np.allclose(upper, lower, rtol=1e-9, atol=0):
        raise UsageError("couplings: expected a matrix that is symmetric or triangular")
    return np.stack([keys // size, keys % size], axis=1), upper, size


def _names_of(*mappings: Iterable[Any]) -> dict[Any, int]:
    """Labels in the order they are first met."""
    labels: dict[Any, int] = {}
    for mapping in mappings:
        for label in mapping:
            labels.setdefault(label, len(labels))
    return labels


def _name(model: Model, labels: Iterable[Any]) -> Model:
    names = [str(label) for label in labels]
    if names != [str(v) for v in range(len(names))]:
        model._name_variables(names)
    return model


def _ising_of_dicts(couplings: Mapping[Any, float], fields: Mapping[Any, float] | None) -> Model:
    labels = _names_of(fields or {}, (label for pair in couplings for label in pair))
    model = Model(len(labels))
    if couplings:
        model.spin_pairs([(labels[a], labels[b]) for a, b in couplings], list(couplings.values()))
    h = np.zeros(len(labels))
    for label, field in (fields or {}).items():
        h[labels[label]] = field
    model.fields(h)
    return _name(model, labels)


def ising(edges: Any, couplings: Any = None, fields: Any = None, *, variables: int | None = None) -> Model:
    """An Ising model: log p = sum J_ij s_i s_j + sum h_i s_i + const, spins s = 2x - 1, each pair once.

    Parameters
    ----------
    edges : array_like of shape (n, 2), matrix of couplings, or dict
        Pairs of variables by number. Or a square matrix J, dense or of scipy.sparse, symmetric or triangular;
        then the next argument is the fields. Or a dict {(a, b): J}, then a dict of fields.
    couplings : float or array_like of n
    fields : float or array_like, optional
    variables : int, optional
        How many there are, when the last of them have no edge.

    Returns
    -------
    Model
    """
    if isinstance(edges, Mapping):
        return _ising_of_dicts(edges, couplings if fields is None else fields)
    if _is_matrix(edges):
        fields = couplings if fields is None else fields
        edges, couplings, size = _pairs_of_matrix(edges)
    else:
        edges = np.asarray(edges)
        size = int(edges.max()) + 1 if edges.size else 0
    if fields is not None and np.ndim(fields) == 1:
        size = max(size, len(fields))
    model = Model(size if variables is None else variables)
    if len(edges):
        model.spin_pairs(edges, 1.0 if couplings is None else couplings)
    if fields is not None:
        model.fields(fields)
    return model


def potts(edges: Any, couplings: Any = 1.0, *, states: int, fields: Any = None, variables: int | None = None) -> Model:
    """A Potts model: log p = sum J_ij [x_i = x_j] + sum h_i(x_i) + const.

    Parameters
    ----------
    edges : array_like of shape (n, 2)
    couplings : float or array_like of n
    states : int
        Of every variable.
    fields : array_like of shape (variables, states), optional
    variables : int, optional
        How many there are, when the last of them have no edge.

    Returns
    -------
    Model
    """
    edges = np.asarray(edges)
    size = int(edges.max()) + 1 if edges.size else 0
    if fields is not None:
        size = max(size, len(fields))
    model = Model(np.full(size if variables is None else variables, states))
    if len(edges):
        model.potts_pairs(edges, couplings)
    if fields is not None:
        model.unaries(fields)
    return model


def from_networkx(graph: Any, *, coupling: str = "weight", field: str = "bias", default: float | None = None) -> Model:
    """An Ising model from a networkx graph; its variables have the names of the nodes.

    Parameters
    ----------
    graph : networkx.Graph
    coupling : str
        The attribute of an edge that is J.
    field : str
        The attribute of a node that is h; 0 where there is none.
    default : float, optional
        J of edges without the attribute, which are an error otherwise.

    Returns
    -------
    Model
    """
    labels = _names_of(graph.nodes())
    model = Model(len(labels))
    pairs, values = [], []
    for a, b, data in graph.edges(data=True):
        value = data.get(coupling, default)
        if value is None:
            raise DataError(f"edge {a}-{b} has no attribute {coupling}")
        pairs.append((labels[a], labels[b]))
        values.append(value)
    if pairs:
        model.spin_pairs(pairs, values)
    model.fields([data.get(field, 0.0) for _, data in graph.nodes(data=True)])
    return _name(model, labels)


def from_bqm(bqm: Any, quadratic: Mapping[Any, float] | None = None, *, vartype: str | None = None, offset: float = 0.0,
             beta: float = 1.0) -> Model:
    """A binary quadratic model, of dimod or as plain dicts: p(x) is proportional to exp(-beta E(x)).

    Parameters
    ----------
    bqm : dimod.BinaryQuadraticModel, or dict {variable: bias}
    quadratic : dict {(a, b): bias}
        When the first is a dict.
    vartype : {"SPIN", "BINARY"}
        When the first is a dict.
    offset : float
    beta : float
        The inverse temperature.

    Returns
    -------
    Model
        State 1 of a variable is spin +1, or 1.
    """
    if isinstance(bqm, Mapping):
        linear, pairwise = bqm, quadratic or {}
        if vartype is None:
            raise UsageError("vartype: expected SPIN or BINARY beside plain dicts")
    elif not hasattr(bqm, "quadratic"):
        raise UsageError(f"bqm: expected a binary quadratic model or a dict of biases, found {type(bqm).__name__}")
    else:
        linear, pairwise, vartype, offset = bqm.linear, bqm.quadratic, bqm.vartype, float(bqm.offset)
    kind = getattr(vartype, "name", vartype)
    if kind not in ("SPIN", "BINARY"):
        raise UsageError(f"vartype={kind}: expected SPIN or BINARY")
    labels = _names_of(linear, (label for pair in pairwise for label in pair))
    fields = np.zeros(len(labels))
    for label, bias in linear.items():
        fields[labels[label]] += bias
    pairs = np.array([(labels[a], labels[b]) for a, b in pairwise], dtype=np.int64).reshape(-1, 2)
    couplings: NDArray[np.float64] = np.array(list(pairwise.values()), dtype=np.float64)
    if kind == "BINARY":  # x = (1 + s) / 2
        offset += fields.sum() / 2 + couplings.sum() / 4
        fields /= 2
        np.add.at(fields, pairs, couplings[:, None] / 4)
        couplings = couplings / 4
    model = Model(len(labels))
    if len(pairs):
        model.spin_pairs(pairs, -beta * couplings)
    model.fields(-beta * fields)
    model._add_constant(-beta * offset)
    return _name(model, labels)


def _states_of(factor: Any, name: Any, count: int) -> list[str] | int:
    states = (getattr(factor, "state_names", None) or {}).get(name)
    return count if states is None else [str(state) for state in states]


def _from_pgmpy_network(network: Any) -> Model:
    conditionals = {cpd.variable: cpd for cpd in network.get_cpds()}
    bn = BayesNet()
    done: set[Any] = set()
    for node in network.nodes():
        waiting = {} if node in done else {node: None}  # each for the one behind it
        while waiting:
            name = next(reversed(waiting))
            cpd = conditionals.get(name)
            if cpd is None:
                raise DataError(f"variable {name} has no conditional distribution")
            parents = list(cpd.variables)[1:]
            missing = [parent for parent in parents if parent not in done]
            if missing:
                if missing[0] in waiting:
                    raise DataError(f"variable {missing[0]} is among its own ancestors")
                waiting[missing[0]] = None
                continue
            values = np.asarray(cpd.values, dtype=float).reshape([int(c) for c in cpd.cardinality])
            bn.add(str(name), _states_of(cpd, name, values.shape[0]), np.moveaxis(values, 0, -1), [str(p) for p in parents])
            done.add(name)
            del waiting[name]
    return bn


def _from_pgmpy_factors(network: Any) -> Model:
    factors = list(network.get_factors())
    variables: dict[str, Any] = {}
    for factor in factors:
        for name, count in zip(factor.variables, factor.cardinality):
            variables.setdefault(str(name), _states_of(factor, name, int(count)))
    model = Model(variables)
    for factor in factors:
        model.factor([str(name) for name in factor.variables],
                     np.asarray(factor.values, dtype=float).reshape([int(c) for c in factor.cardinality]))
    return model


def _from_agrum(network: Any) -> Model:
    bn = BayesNet()
    order = network.topologicalOrder() if hasattr(network, "topologicalOrder") else network.nodes()
    for node in order:
        variable, table = network.variable(node), network.cpt(node)
        names = [str(name) for name in table.names]  # the variable, then its parents
        values = np.asarray(table.toarray(), dtype=float)  # the last name has the first axis
        axes = names[::-1]
        parents = names[1:]
        values = values.transpose([axes.index(name) for name in [*parents, names[0]]])
        bn.add(str(variable.name()), [str(label) for label in variable.labels()], values, parents)
    return bn


def convert(network: Any) -> Model:
    """A model of another package: of pgmpy, pyAgrum, networkx or dimod, told by what the object can do.

    Nothing of those packages is imported.

    Returns
    -------
    Model
        A BayesNet where the object is one.
    """
    if isinstance(network, Model):
        return network.copy()
    if hasattr(network, "get_cpds"):
        return _from_pgmpy_network(network)
    if hasattr(network, "get_factors"):
        return _from_pgmpy_factors(network)
    if hasattr(network, "cpt") and hasattr(network, "variable"):
        return _from_agrum(network)
    if hasattr(network, "linear") and hasattr(network, "quadratic"):
        return from_bqm(network)
    if hasattr(network, "nodes") and hasattr(network, "edges"):
        return from_networkx(network)
    raise UsageError(f"cannot convert a {type(network).__name__}: expected a network of pgmpy, pyAgrum, networkx or dimod")


