"""The figures of a model report, each with what it shows in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from unseen import metrics
from unseen.apps import plots
from unseen.apps.plots import LatentLinks, Strip
from unseen.apps.report.measure import Measured, Measurements
from unseen.apps.report.pictures import RowPictures
from unseen.apps.report.publish import Shown
from unseen.errors import counted
from unseen.estimators.jlse import JLSE

_ONE_PANEL = 8


def precision_recall(found: Measurements) -> Shown:
    names = found.names[found.shown]
    curves, precision = {}, {}
    for method in found.methods:
        curves[method.label] = {
            found.titles[n]: metrics.precision_recall_curve(found.y == n, method.scores[:, k])
            for k, n in zip(found.shown, names, strict=True)
        }
        precision[method.label] = {
            found.titles[c.name]: c.average_precision for c in method.evaluation.by_class
        }
    caption = "Precision against recall when the rows are ranked by their score for a class."
    if len(found.methods) == 1 and len(names) <= _ONE_PANEL:
        label = found.main.label
        return Shown(
            "precision-recall", "precision-recall curves by class", caption,
            lambda look: plots.precision_recall_figure(curves[label], precision[label], look),
        )  # fmt: skip
    order = ", ".join(m.label for m in found.methods)
    caption += f" Average precision (AP) in the order {order}." + _left_out(found)
    return Shown(
        "precision-recall", "precision-recall curves, a panel a class", caption,
        lambda look: plots.precision_recall_grid(curves, precision, look),
    )  # fmt: skip


def _left_out(found: Measurements) -> str:
    if found.shown.size == found.names.size:
        return ""
    return (
        f" Shown are {found.shown.size} of {found.names.size} classes, evenly from the best to the "
        "worst average precision."
    )


def confusion(found: Measurements) -> Shown:
    chosen = found.names[found.order]
    rows = np.isin(found.y, chosen)
    named = chosen[found.main.scores[np.ix_(rows, found.order)].argmax(axis=1)]
    matrix = metrics.confusion_matrix(found.y[rows], named, chosen)
    titled = metrics.ConfusionMatrix(np.array([found.titles[n] for n in chosen]), matrix.values)
    caption = (
        f"{found.main.label}: share of the rows of a class (lines) that were given each name "
        "(columns), in percent. Classes with like descriptions stand together." + _left_out(found)
    )
    if found.shown.size < found.names.size:
        caption += " Only these competed here."
    return Shown(
        "confusion", "confusion matrix", caption,
        lambda look: plots.confusion_figure(titled, look),
    )  # fmt: skip


def tsne(found: Measurements) -> Shown:
    names = found.names[found.shown]
    kept = np.isin(found.y[found.sample], names)
    points = {label: place[kept] for label, place in found.points.items()}
    labels = np.array([found.titles[n] for n in found.y[found.sample][kept]])
    total = counted(found.y.size, "row")
    rows = f"All {total}" if found.sample.size == found.y.size else (
        f"A random sample of {found.sample.size:,} of the {total}, about as many of each class,"
    )  # fmt: skip
    caption = (
        f"{rows} of unseen classes, as the model embeds them at test time, placed in the plane by "
        "t-SNE (cosine, perplexity 30, seed 0). Distances between far groups mean little."
        + _left_out(found)
    )
    return Shown(
        "tsne", "t-SNE of the embeddings of unseen rows, coloured by class", caption,
        lambda look: plots.tsne_figure(points, labels, [found.titles[n] for n in names], look),
    )  # fmt: skip


def similarity(found: Measurements) -> Shown:
    matrices = found.similarities()
    names = [found.titles[n] for n in found.names[found.order]]
    caption = (
        "Cosines between classes: of their descriptions, and of the mean embeddings of their rows, "
        "each after its mean over the classes was taken off. A matrix that looks like the first "
        "has carried the likeness of descriptions over to rows." + _left_out(found)
    )
    return Shown(
        "similarity", "cosine similarity matrices of the unseen classes", caption,
        lambda look: plots.similarity_figure(matrices, names, look),
    )  # fmt: skip


def seen_unseen(found: Measurements) -> Shown | None:
    curves = {m.label: m.curve for m in found.methods if m.curve is not None}
    if not curves:
        return None
    stands = {}
    for method in found.methods:
        result = method.evaluation.generalized
        if result is not None:
            stands[method.label] = metrics.GeneralizedAccuracy(
                result.seen, result.unseen, result.harmonic_mean
            )
    return Shown(
        "seen-unseen", "accuracy on seen against unseen classes",
        "Seen and unseen classes compete. Along a line more and more is taken off the scores of "
        "the seen classes; AUSUC is the area under it. The mark is the model as it is.",
        lambda look: plots.seen_unseen_figure(curves, stands, look),
    )  # fmt: skip


def objectives(found: Measurements) -> Iterator[Shown]:
    for k, method in enumerate(found.methods):
        history = getattr(method.subject.model, "history_", None)
        if history is None or np.size(history) == 0 or not np.isfinite(history).all():
            continue
        if np.ndim(history) == 2 and np.shape(history)[1] != len(plots.PARTS):
            continue
        parts = "the objective J and its parts" if np.ndim(history) == 2 else "the objective"
        yield Shown(
            f"objective-{k + 1}", f"training objective of {method.label}",
            f"{method.label}: {parts}, from the start through the rounds of training.",
            lambda look, history=history: plots.objective_figure(history, look=look),
        )  # fmt: skip


def explained(found: Measurements) -> Measured | None:
    """The first model whose latent links can be shown."""
    methods = (m for m in found.methods if isinstance(m.subject.model, JLSE))
    return next(methods, None)


def latent_links(found: Measurements, name: str, pictures: RowPictures) -> tuple[Shown, str]:
    """The links between a class and the row that fits it best; and a sentence on their sum."""
    method = explained(found)
    assert method is not None
    assert isinstance(method.subject.model, JLSE)
    X, _ = found.data.unseen_set()
    scores = method.scores[:, found.names.tolist().index(name)]
    row = int(np.argmax(scores))
    rows = np.asarray(found.data.unseen_rows)
    links = _titled(plots.latent_links(method.subject.model, X, row, name), found.titles)
    examples = [[pictures.array(r) for r in rows[atom].tolist()] for atom in links.examples]
    true = found.titles[found.y[row]]
    caption = (
        f"{method.label}, class “{links.name}” and the row that fits it best (row {rows[row]}, "
        f"{'truly' if found.y[row] == name else 'in truth'} {true}). Left, the source atoms of the "
        "class, which began as seen classes; right, the target atoms of the row"
        + (", by the rows that have most of each" if pictures.any else "")
        + ". Bars are weights, lines what a pair of atoms adds to the similarity: blue for the "
        "class, orange against it."
    )
    shown = Shown(
        "latent-links", f"latent links between {links.name} and a row", caption,
        lambda look: plots.links_figure(
            links, examples if pictures.any else None, pictures.array(rows[row]),
            f"row {rows[row]}: {true}", look,
        ),
    )  # fmt: skip
    sentence = f"All links together add {links.total:+.2f}, those drawn {links.terms.sum():+.2f}"
    if links.bias:
        whole = links.total + links.bias
        sentence += f"; with the bias {links.bias:+.2f} the similarity is {whole:.2f}"
    return shown, f"{sentence}."


def _titled(links: LatentLinks, titles: dict[str, str]) -> LatentLinks:
    source = tuple(titles.get(name, name) for name in links.source)
    return replace(links, name=titles[links.name], source=source)


def gallery(found: Measurements, pictures: RowPictures, top: int) -> Shown:
    strips = []
    for title, returned in found.retrieved(top).items():
        images = [pictures.array(r.row) for r in returned]
        strips.append(Strip(title, None, images, [r.right for r in returned]))
    heading = f"{found.main.label}: the {top} best fits of each class"
    return Shown(
        "retrieval", "the best fits of each class", "",
        lambda look: plots.gallery_figure(strips, heading, look),
    )  # fmt: skip
