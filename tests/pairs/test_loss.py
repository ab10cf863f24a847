# Problems are plain dicts of mixed values, which the type checker cannot follow.
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false
# pyright: reportOperatorIssue=false
import numpy as np
import pytest

from tests.oracles.pairs import explicit_pairs, loss_value
from tests.solvers.problems import random_problem, signed_problem
from unseen.pairs.loss import add_class_losses, check_pairs, row_losses


@pytest.mark.parametrize("make", [random_problem, signed_problem])
@pytest.mark.parametrize("seed", range(40))
def test_losses_by_label_match_explicit_matrices(seed, make):
    p = make(seed)
    S = p["Zt"] @ p["rng"].standard_normal((p["Zt"].shape[1], len(p["Zs"])))
    y, scale, squared = check_pairs(
        p["y"], len(S), len(p["Zs"]), p["w_pos"], p["w_neg"], p["scale"], p["loss"], S.dtype
    )
    Y, omega = explicit_pairs(p["y"], len(p["Zs"]), p["w_pos"], p["w_neg"], p["scale"])
    expected = loss_value(Y * S.T, omega, p["loss"])
    rows = row_losses(S, y, p["w_pos"], p["w_neg"], scale, squared)
    classes = np.zeros(len(p["Zs"]))
    add_class_losses(S, y, p["w_pos"], p["w_neg"], scale, squared, classes)
    np.testing.assert_allclose([rows.sum(), classes.sum()], expected, rtol=1e-12)


def test_bad_labels_and_losses_are_named():
    with pytest.raises(ValueError, match=r"signs have shape \(3, 2\), expected \(2, 3\)"):
        check_pairs(np.ones((3, 2)), 2, 3, 1.0, 1.0, None, "hinge", np.float64)
    with pytest.raises(ValueError, match="signs must be finite"):
        check_pairs(np.full((2, 3), np.nan), 2, 3, 1.0, 1.0, None, "hinge", np.float64)
    with pytest.raises(ValueError, match=r"labels must lie in -1\.\.2"):
        check_pairs([0, 3], 2, 3, 1.0, 1.0, None, "hinge", np.float64)
    with pytest.raises(ValueError, match="loss is one of"):
        check_pairs([0, 1], 2, 3, 1.0, 1.0, None, "logistic", np.float64)
