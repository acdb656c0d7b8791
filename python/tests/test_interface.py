"""Every line of the interface as it was designed, as one program."""

import subprocess
import sys
import textwrap

from conftest import MODELS

PROGRAM = """
    import pickle, sys, warnings
    import numpy as np, networkx, scipy.sparse, pandas, drover as dv
    warnings.simplefilter("ignore")

    edges, couplings, fields = np.array([[0, 1], [1, 2], [2, 3]]), [.3, -.2, .5], [.1, 0, 0, -.1]
    J = np.zeros((4, 4)); J[edges[:, 0], edges[:, 1]] = couplings
    m = dv.ising(edges, couplings, fields)
    a = m.marginals().values
    for same in (dv.ising(scipy.sparse.csr_matrix(J), fields), dv.ising(J + J.T, fields)):
        assert np.allclose(same.marginals().values, a)
    G = networkx.Graph()
    for v, h in enumerate(fields): G.add_node(v, bias=h)
    for (i, j), w in zip(edges.tolist(), couplings): G.add_edge(i, j, weight=w)
    m = dv.from_networkx(G, coupling="weight", field="bias")
    assert np.allclose(m.marginals().values, a)
    m = dv.grid(1000, 1000, coupling=0.44, periodic=True)
    assert len(m) == 10**6
    W, b, c = np.full((4, 3), .1), np.zeros(4), np.zeros(3)
    r = dv.rbm(W, b, c);  p = dv.potts(edges, couplings, states=8)
    m = dv.Model({"rain": ["no", "yes"], "lawn": ["dry", "wet"], "x": 3})
    m.factor(["rain", "lawn"], [[.9, .1], [.2, .8]])
    m.factors([[0, 1], [1, 0]], [np.full((2, 2), 1.), np.full((2, 2), 2.)])
    m.gate("noisy-or", ["rain", "lawn"], [.7])
    bn = dv.BayesNet()
    bn.add("sprinkler", ["off", "on"], [.6, .4]); bn.add("rain", ["no", "yes"], [.8, .2])
    table = [[[.9, .1], [.2, .8]], [[.3, .7], [.1, .9]]]
    try:
        bn.add("lawn", ["dry", "wet"], [[[.9, .2], [.2, .8]], [[.3, .7], [.1, .9]]], parents=["sprinkler", "rain"])
        raise SystemExit("a row that does not sum to 1 was taken")
    except dv.DataError as error:
        assert "lawn" in str(error), error
    bn.add("lawn", ["dry", "wet"], table, parents=["sprinkler", "rain"])
    q = dv.from_bqm({"a": -1., "b": .5}, {("a", "b"): .3}, vartype="SPIN", beta=1.0)
    bn = dv.convert(bn)
    bn.write(sys.argv[1] + "/net.bif.gz");  bn = dv.read(sys.argv[1] + "/net.bif.gz");  bn.write(sys.argv[1] + "/net.uai");  bn.info()

    r = bn.marginals({"lawn": "wet"})
    try:
        bn.marginals(metod="exact")
    except dv.UsageError as error:
        assert "method" in str(error)
    r["rain"]; r.values; r.offsets; r.mcse; r.rhat; r.exact; r.converged; r.verdict; r.method; r.because; r.to_frame(); r.to_xarray()
    bn.marginals({"lawn": [.2, .8]})
    frame = pandas.DataFrame({"lawn": ["wet", None, "dry"], "sprinkler": ["on", "off", np.nan]})
    rows = bn.marginals(rows=frame, query=["rain"])
    assert rows["rain"].shape == (3, 2)
    bn.map({"lawn": "wet"}); bn.n_best(5); bn.marginal_map(["rain"]); bn.logz(method="ais"); bn.joint(["rain", "sprinkler"], {"lawn": 1})
    d = bn.sample(10_000, method="gibbs", chains=64, seed=1)
    assert d.values.dtype == np.uint8 and d.values.shape[0] == 64 and d.values.base is not None and not d.values.flags.writeable
    d["rain"]; d.summary(); d.to_xarray(); d.to_netcdf(sys.argv[1] + "/d.nc")
    try:
        d.to_arviz()
    except ModuleNotFoundError:
        pass
    run = bn.start_sampling(chains=64); run.inspect().rhat_max; run.pause(); run.resume(); d = run.stop()
    m = dv.ising({("a", "b"): .1})
    s = dv.DynamicModel(m, seed=1); f = s.add_factor("a", "b", coupling=.7); s.sweep(100); s.marginals()
    X = (np.random.default_rng(0).random((500, 4)) < .4).astype(int)
    h = dv.Herding.from_data(pandas.DataFrame(X, columns=["rain", "b", "c", "d"]), order=2); h.sample(10_000); h.probability({"rain": 1})
    from drover.sklearn import RBM, Ising, TextNB, CRFTagger, HerdingClassifier
    for estimator in (RBM(), Ising(), TextNB(), CRFTagger(), HerdingClassifier()):
        estimator.get_params()
    dv.diagnose(d.values)

    assert "<svg" in r._repr_html_() and repr(r).count(chr(10)) < 20
    page = r.report(sys.argv[1] + "/r.html", open=False)
    live = bn.explore(open=False); live.stop()
    import matplotlib; matplotlib.use("Agg")
    r.plot(); d.plot(); dv.plot_trace(d)
    pickle.loads(pickle.dumps(bn)); pickle.loads(pickle.dumps(r))
    print("every line ran")
"""


def test_every_line(tmp_path):
    result = subprocess.run([sys.executable, "-c", textwrap.dedent(PROGRAM), str(tmp_path)], capture_output=True, text=True, cwd=MODELS,
                            check=False, timeout=300)
    assert result.stdout.strip() == "every line ran", result.stderr
