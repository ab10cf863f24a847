"""Each figure on small data: what is drawn is what was given, legible, in both looks."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle
from sklearn.metrics import average_precision_score
from sklearn.metrics.pairwise import cosine_similarity

from tests.common.small import small_jlse, small_kernel_jlse
from unseen import JLSE, InputError, make_zero_shot, metrics
from unseen.apps import plots
from unseen.apps.plots.canvas import DARK, LIGHT, Look, encoded, line_look, mark_look
from unseen.evaluation.comparison import Compared, Comparison

looks = pytest.mark.parametrize("look", [LIGHT, DARK], ids=["light", "dark"])
cases = pytest.mark.parametrize(
    ("n_classes", "look"),
    [(5, LIGHT), (5, DARK), (50, LIGHT), pytest.param(50, DARK, marks=pytest.mark.slow)],
    ids=["5 light", "5 dark", "50 light", "50 dark"],
)
# Mathematics, what legends hide, and what has no room.
ODD = ["$x_", "_hidden", "a very long name of a class that no figure has room for", "50 %", "é"]


def names_of(n_classes: int) -> list[str]:
    return (ODD + [f"White breasted Nuthatch {k}" for k in range(n_classes)])[:n_classes]


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def visible_texts(figure: Any) -> list[Any]:
    figure.draw_without_rendering()
    found = figure.findobj(lambda a: hasattr(a, "get_text") and hasattr(a, "get_fontsize"))
    return [t for t in found if t.get_text().strip() and t.get_visible()]


def boxes(texts: list[Any]) -> np.ndarray:
    return np.array([t.get_window_extent().extents for t in texts])


def overlaps(extents: np.ndarray) -> int:
    """Pairs of boxes that share more than a hair."""
    low = np.maximum(extents[:, None, :2], extents[None, :, :2])
    high = np.minimum(extents[:, None, 2:], extents[None, :, 2:])
    shared = ((high - low) > 0.5).all(axis=2)
    return int(np.triu(shared, 1).sum())


def contrast(a: str, b: str) -> float:
    def luminance(colour: str) -> float:
        c = np.array(to_rgb(colour))
        return float(np.where(c <= 0.03928, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
                     @ [0.2126, 0.7152, 0.0722])  # fmt: skip

    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


# -- colours ------------------------------------------------------------------------------------

# Machado et al. 2009, severity 1, on linear RGB.
BLIND = {
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
               [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
               [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
               [0.004733, 0.691367, 0.303900]],
}  # fmt: skip


def lab(colour: str, seen_by: Any) -> np.ndarray:
    c = np.array(to_rgb(colour))
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    t = xyz @ np.clip(np.asarray(seen_by) @ linear, 0, 1) / [0.9505, 1.0, 1.089]
    f = np.where(t > 0.008856, np.cbrt(t), 7.787 * t + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@looks
@pytest.mark.parametrize("eyes", ["all", *BLIND])
def test_colours_differ_for_all_eyes(look: Look, eyes: str) -> None:
    seen_by = BLIND.get(eyes, np.eye(3))
    for a, b in combinations(look.colours, 2):
        assert np.linalg.norm(lab(a, seen_by) - lab(b, seen_by)) > 10, (a, b)


@looks
def test_ink_and_colours_stand_out_from_the_paper(look: Look) -> None:
    assert contrast(look.ink, look.paper) > 7
    assert contrast(look.soft, look.paper) > 4.5
    for colour in (*look.colours, look.wrong):
        assert contrast(colour, look.paper) > 2, colour


@looks
def test_marks_and_lines_are_told_apart(look: Look) -> None:
    assert len({tuple(mark_look(k, look).values()) for k in range(56)}) == 56
    assert len({tuple(line_look(k, look).values()) for k in range(28)}) == 28


# -- figures by class ---------------------------------------------------------------------------


@cases
def test_tsne(n_classes: int, look: Look) -> None:
    names = names_of(n_classes)
    labels = np.repeat(names, 6)
    points = {m: rng().normal(size=(labels.size, 2)) for m in ("A", "B")}
    figure = plots.tsne_figure(points, labels, names, look)
    assert len(figure.axes) == 2
    for axes in figure.axes:
        drawn = [c for c in axes.collections if len(c.get_offsets())]
        assert [len(c.get_offsets()) for c in drawn] == [6] * n_classes
    (legend,) = figure.legends
    assert len(legend.get_texts()) == n_classes
    texts = visible_texts(figure)
    assert overlaps(boxes(legend.get_texts())) == 0
    extents = boxes(texts)
    assert extents[:, :2].min() >= -1, "nothing is cut off"
    assert (extents[:, 2:] <= np.array(figure.bbox.extents[2:]) + 1).all()


def test_tsne_parts_what_is_far_apart() -> None:
    codes = np.repeat(np.eye(3), 20, axis=0) + 0.05 * rng().normal(size=(60, 3))
    place = plots.tsne_points(codes)
    assert place.shape == (60, 2)
    distances = np.linalg.norm(place[:, None] - place, axis=2) + 1e9 * np.eye(60)
    assert (distances.argmin(axis=1) // 20 == np.arange(60) // 20).all()
    assert np.isfinite(plots.tsne_points(np.ones((10, 4)))).all()
    with pytest.raises(InputError, match="at least 4 rows"):
        plots.tsne_points(np.eye(3))


@cases
def test_similarity_matrices(n_classes: int, look: Look) -> None:
    names = names_of(n_classes)
    V = rng().random((n_classes, 8))
    given = {"class table": plots.cosine_similarities(V), "rows": plots.cosine_similarities(V**3)}
    figure = plots.similarity_figure(given, names, look)
    panels = [a for a in figure.axes if a.images]
    assert len(panels) == 2
    for axes, matrix in zip(panels, given.values(), strict=True):
        assert np.array_equal(axes.images[0].get_array(), matrix)
    texts = visible_texts(figure)
    labels = [t for t in panels[0].get_yticklabels() if t.get_text()]
    assert len(labels) == n_classes
    assert overlaps(boxes(labels)) == 0
    assert boxes(texts)[:, :2].min() >= -1, "nothing is cut off"


def test_cosines_are_those_of_scikit_learn() -> None:
    V = rng().normal(size=(7, 4))
    assert np.allclose(plots.cosine_similarities(V), cosine_similarity(V - V.mean(axis=0)))
    assert np.isfinite(plots.cosine_similarities(np.ones((3, 2)))).all()


def test_like_classes_stand_together() -> None:
    V = np.eye(3)[[0, 1, 2, 0, 1, 2]] + 0.01 * rng().normal(size=(6, 3))
    order = plots.alike_order(plots.cosine_similarities(V))
    assert sorted(order) == list(range(6))
    assert all(len({k % 3 for k in order[s : s + 2]}) == 1 for s in (0, 2, 4))


@cases
def test_confusion(n_classes: int, look: Look) -> None:
    names = np.array(names_of(n_classes))
    counts = rng().integers(0, 9, size=(n_classes, n_classes))
    figure = plots.confusion_figure(metrics.ConfusionMatrix(names, counts), look)
    axes = figure.axes[0]
    shares = 100 * counts / counts.sum(axis=1, keepdims=True)
    assert np.allclose(axes.images[0].get_array() ** 2, shares)
    if n_classes == 5:
        assert [t.get_text() for t in axes.texts] == [f"{s:.0f}" for s in shares.ravel()]
    visible_texts(figure)
    for ticks in (axes.get_xticklabels(), axes.get_yticklabels()):
        assert len(ticks) == n_classes
        assert overlaps(boxes(ticks)) == 0


def curves_of(names: list[str]) -> tuple[dict[str, Any], dict[str, float]]:
    curves, precision = {}, {}
    for name in names:
        relevant = rng().random(60) < 0.3
        scores = rng().random(60).round(1) + relevant / 3
        curves[name] = metrics.precision_recall_curve(relevant, scores)
        precision[name] = float(average_precision_score(relevant, scores))
    return curves, precision


@cases
def test_precision_recall(n_classes: int, look: Look) -> None:
    names = names_of(n_classes)
    curves, precision = curves_of(names)
    figure = plots.precision_recall_figure(
        {"A": curves, "B": curves}, {"A": precision, "B": precision}, look
    )
    panels = [a for a in figure.axes if a.get_visible()]
    assert len(panels) == n_classes
    for axes, name in zip(panels, names, strict=True):
        assert len(axes.lines) == 2
        for line in axes.lines:
            recall, height = line.get_data()
            assert -np.diff(recall) @ height[:-1] == pytest.approx(precision[name])
        assert f"{100 * precision[name]:.0f}" in axes.get_title()
    visible_texts(figure)
    assert overlaps(boxes([axes.title for axes in panels])) == 0
    colours = {line.get_color() for line in panels[0].lines}
    assert len(colours) == 2


@cases
def test_gallery(n_classes: int, look: Look) -> None:
    right = rng().random((n_classes, 5)) < 0.6
    strips = [
        plots.Strip(name, None, [rng().random((8, 6, 3)), None, *[np.eye(8)] * 3], marks.tolist())
        for name, marks in zip(names_of(n_classes), right, strict=True)
    ]
    figure = plots.gallery_figure(strips, "title", look)
    (axes,) = figure.axes
    assert len(axes.images) == 4 * n_classes, "one picture of each strip is missing"
    frames = [p for p in axes.patches if isinstance(p, Rectangle)]
    red = [p for p in frames if p.get_edgecolor()[:3] == to_rgb(look.wrong)]
    assert (len(frames), len(red)) == (5 * n_classes, int((~right).sum()))
    assert len(axes.lines) == len(red), "a cross on each"
    visible_texts(figure)
    assert overlaps(boxes(axes.texts)) == 0
    assert boxes(axes.texts)[:, 0].min() >= 0


# -- one model ----------------------------------------------------------------------------------


@looks
def test_objective(look: Look) -> None:
    history = rng().random((4, 5))
    figure = plots.objective_figure(history, look=look)
    assert len(figure.axes) == 5
    for axes, values in zip(figure.axes, history.T, strict=True):
        assert np.array_equal(axes.lines[0].get_ydata(), values)
    (axes,) = plots.objective_figure(np.array([3.0, 2.0]), look=look).axes
    assert axes.lines[0].get_ydata().tolist() == [3, 2]
    with pytest.raises(InputError, match="parts"):
        plots.objective_figure(rng().random((4, 3)))


@looks
def test_seen_unseen(look: Look) -> None:
    labels = np.repeat(list("abcd"), 20)
    scores = rng().random((80, 4)) + (labels[:, None] == np.array(list("abcd")))
    curve = metrics.seen_unseen_curve(labels, scores, list("abcd"), ["a", "b"])
    figure = plots.seen_unseen_figure({"A": curve}, {"A": curve.at(0.0)}, look)
    line, mark = figure.axes[0].lines
    x, y = line.get_xdata() / 100, line.get_ydata() / 100
    assert np.sum(np.diff(x) * (y[1:] + y[:-1])) / 2 == pytest.approx(curve.ausuc)
    assert mark.get_xdata()[0] == pytest.approx(100 * curve.at(0.0).unseen)
    assert f"{curve.ausuc:.3f}" in figure.axes[0].get_legend().get_texts()[0].get_text()


@pytest.fixture(scope="module", params=[small_jlse, small_kernel_jlse])
def fitted(request: pytest.FixtureRequest) -> tuple[JLSE, Any]:
    data = make_zero_shot(8, 3, rows_per_class=10, n_features=12, n_attributes=6, n_factors=4)
    model = request.param(n_target_atoms=6)
    return model.fit(*data.training_set(), classes=data.classes), data


@looks
def test_latent_links(fitted: tuple[JLSE, Any], look: Look) -> None:
    model, data = fitted
    X, y = data.unseen_set()
    links = plots.latent_links(model, X, 2, y[2], top=20)
    explained = model.explain(X[2], y[2], top=3)
    assert links.total == pytest.approx(explained.similarity, rel=1e-4, abs=1e-5)
    shown = links.terms.sum()
    assert shown == pytest.approx(links.total, rel=1e-4, abs=1e-5), "all atoms are shown"
    strongest = explained.links[0]
    a = links.source.index(strongest.source_atom)
    b = links.target.index(f"target atom {strongest.target_atom}")
    assert links.terms[a, b] == pytest.approx(strongest.contribution, rel=1e-4)
    pictures = [[np.eye(4)] * len(e) for e in links.examples]
    (axes,) = plots.links_figure(links, pictures, np.eye(4), "row 2", look).axes
    n_strong = np.sum(np.abs(links.terms) > 0.02 * np.abs(links.terms).max())
    assert len(axes.lines) == n_strong
    widths = [line.get_linewidth() for line in axes.lines]
    assert max(widths) == pytest.approx(9)
    assert len(axes.images) == links.examples.size + 1
    colours = {line.get_color() for line in axes.lines}
    assert colours <= set(look.colours[:2])
    assert len(plots.links_figure(links, look=look).axes[0].images) == 0


def test_latent_links_are_those_of_jlse() -> None:
    from unseen import ESZSL

    with pytest.raises(InputError, match="ESZSL has none"):
        plots.latent_links(ESZSL(), None, 0, "a")  # pyright: ignore[reportArgumentType]


@looks
def test_sweep(look: Look) -> None:
    lines = {"A": ([1, 10, 100], [0.1, 0.2, 0.3], [0, 0.1, 0.0]), "B": ([1], [0.5], [0.0])}
    figure = plots.sweep_figure("size of D", lines, look)
    assert figure.axes[0].get_xscale() == "log"
    assert figure.axes[0].lines[0].get_ydata().tolist() == pytest.approx([10, 20, 30])
    assert len({line.get_color() for line in figure.axes[0].lines}) == 2


@looks
def test_export_has_the_paper_of_the_look_and_text_as_text(look: Look) -> None:
    curves, precision = curves_of(names_of(5))
    curves, precision = {"A": curves}, {"A": precision}
    figure = plots.precision_recall_figure(curves, precision, look)
    drawing = encoded(figure, "svg").decode()
    again = plots.precision_recall_figure(curves, precision, look)
    assert drawing == encoded(again, "svg").decode()
    assert ">$x_<" in drawing, "a dollar is a dollar"
    assert "_hidden" in drawing
    assert look.paper in drawing
    assert encoded(figure, "png")[:8] == b"\x89PNG\r\n\x1a\n"


@looks
def test_methods_side_by_side(look: Look) -> None:
    """Every split is a dot, means and distances stand where they should, clear ones are filled."""
    scores = {"first $x": [0.8, 0.7, 0.9], "second": [0.5, 0.4, 0.58], "one split": [0.6]}
    methods = tuple(Compared(n, tuple(s), tuple(s), (1.0,) * len(s)) for n, s in scores.items())
    found = Comparison(methods, "per_class_accuracy", 3, 2, 10, None, 1.0)
    figure = plots.comparison_figure(found, look)
    left, right = figure.axes
    drawn = sorted(np.concatenate([line.get_xdata() for line in left.lines]).tolist())
    for name, values in scores.items():
        for value in [*values, found.estimate(name).mean]:
            assert np.isclose(drawn, 100 * value).any()
    marks = [line for line in right.lines if line.get_marker() == "o"]
    assert [float(mark.get_xdata()[0]) for mark in marks] == pytest.approx([30.67, 20], abs=0.01)
    assert found.behind("second").is_clear
    assert to_rgb(marks[0].get_markerfacecolor()) == to_rgb(look.wrong)
    assert to_rgb(marks[1].get_markerfacecolor()) == to_rgb(look.paper)
    assert overlaps(boxes(visible_texts(figure))) == 0


# -- suites -------------------------------------------------------------------------------------


@looks
def test_a_suite_has_the_best_method_on_top(look: Look) -> None:
    names, n_splits = ["middle", "worst $x_", "best"], 4
    ranks = {
        "top-1": np.array([[2.0, 2.5, 1.5], [1.5, 2.0, 1.0], [2.5, 3.0, 2.0]]),
        "mAP": np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]),
    }
    scores = {f"data {k}": rng().uniform(size=(n_splits, 3)) for k in range(9)}
    figure = plots.suite_figure(names, ranks, scores, look)
    left, right = figure.axes
    ticks = [t.get_text() for t in left.get_yticklabels()]
    assert ticks == ["best", "middle", r"worst \$x_"]
    assert left.get_ylim() == (2.5, -0.5), "the first line is on top"
    assert left.lines[0].get_xdata().tolist() == [1.5, 2.0, 2.5]
    ends = [path.get_segments() for path in left.collections]
    assert [segment[:, 0].tolist() for segment in ends[0]] == [[1.0, 2.0], [1.5, 2.5], [2.0, 3.0]]
    means = [line for line in right.lines if str(line.get_label()).startswith("data")]
    for line, shares in zip(means, scores.values(), strict=True):
        assert np.allclose(line.get_xdata(), 100 * shares.mean(axis=0)[[2, 0, 1]])
    assert len(right.collections) == 9
    assert all(len(marks.get_offsets()) == 3 * n_splits for marks in right.collections)
    marks = {(line.get_color(), line.get_marker()) for line in means}
    assert len(marks) == 9, "data sets are told apart"
    assert overlaps(boxes(visible_texts(figure))) == 0
    assert encoded(figure, "png").startswith(b"\x89PNG")
