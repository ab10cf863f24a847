"""The figures of a model report, each with what it shows in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType

import numpy as np

from unseen import metrics
from unseen.apps import plots
from unseen.apps.report.measure import Measured, Measurements
from unseen.apps.report.publish import Shown, has_pictures, row_picture
from unseen.errors import counted
from unseen.estimators.jlse import JLSE


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
    order = ", ".join(m.label for m in found.methods)
    caption += f" Average precision (AP) in the order {order}." + _left_out(found)
    draw = partial(plots.precision_recall_figure, curves, precision)
    return Shown("precision-recall", "precision-recall curves, one panel per class", caption, draw)


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
        f"{found.main.label}: share of the rows of a class (lines) that were given each of these "
        "names (columns), in percent. Classes with similar descriptions stand together."
    ) + _left_out(found)
    return Shown("confusion", "confusion matrix", caption, partial(plots.confusion_figure, titled))


def tsne(found: Measurements) -> Shown | None:
    if not found.points:
        return None
    names = found.names[found.shown]
    kept = np.isin(found.y[found.sample], names)
    points = {label: place[kept] for label, place in found.points.items()}
    labels = np.array([found.titles[n] for n in found.y[found.sample][kept]])
    caption = (
        f"{found.sample.size:,} of the {counted(found.y.size, 'row')} of unseen classes, about as "
        "many of each class, as the model embeds them at test time, placed in the plane by t-SNE "
        "(cosine, perplexity 30, seed 0). Distances between far groups mean little."
    ) + _left_out(found)
    draw = partial(plots.tsne_figure, points, labels, [found.titles[n] for n in names])
    return Shown("tsne", "t-SNE of the embeddings of unseen rows, coloured by class", caption, draw)


def similarity(found: Measurements) -> Shown | None:
    if found.names.size < 3:
        return None
    names = found.names[found.order]
    matrices = {"class table": plots.cosine_similarities(found.data.classes.select(names).vectors)}
    for method in found.methods:
        means = [method.codes[found.y == name].mean(axis=0) for name in names]
        matrices[f"{method.label}: rows"] = plots.cosine_similarities(np.array(means))
    caption = (
        "Cosines between classes: of their descriptions, and of the mean embeddings of their rows, "
        "each after subtracting its mean over the classes. A matrix that looks like the first has "
        "carried the similarity of descriptions over to rows." + _left_out(found)
    )
    draw = partial(plots.similarity_figure, matrices, [found.titles[n] for n in names])
    return Shown("similarity", "cosine similarity matrices of the unseen classes", caption, draw)


def seen_unseen(found: Measurements) -> Shown | None:
    curves = {m.label: m.curve for m in found.methods if m.curve is not None}
    if not curves:
        return None
    stands = {m.label: m.evaluation.generalized for m in found.methods}
    caption = (
        "Seen and unseen classes compete. Along a line more and more is subtracted from the scores "
        "of the seen classes; AUSUC is the area under it. The mark is the model as it is."
    )
    draw = partial(plots.seen_unseen_figure, curves, stands)
    return Shown("seen-unseen", "accuracy on seen against unseen classes", caption, draw)


def objectives(found: Measurements) -> Iterator[Shown]:
    for k, method in enumerate(found.methods, start=1):
        history = np.asarray(getattr(method.model, "history_", []))
        of_parts = history.ndim < 2 or history.shape[1] == len(plots.PARTS)
        if history.size == 0 or not np.isfinite(history).all() or not of_parts:
            continue
        parts = "the objective J and its parts" if history.ndim == 2 else "the objective"
        caption = f"{method.label}: {parts}, from the start through the rounds of training."
        draw = partial(plots.objective_figure, history)
        yield Shown(f"objective-{k}", f"training objective of {method.label}", caption, draw)


def explained(found: Measurements) -> Measured | None:
    """The first model whose latent links can be shown."""
    methods = (m for m in found.methods if isinstance(m.model, JLSE))
    return next(methods, None)


def latent_links(found: Measurements, method: Measured, name: str, number: int) -> Shown:
    """The links between a class and the row that fits it best."""
    X, _ = found.data.unseen_set()
    row = int(np.argmax(method.scores[:, found.names.tolist().index(name)]))
    rows = np.asarray(found.data.unseen_rows)
    links = plots.latent_links(method.model, X, row, name)
    source = tuple(found.titles.get(atom, atom) for atom in links.source)
    links = replace(links, name=found.titles[links.name], source=source)
    row_name = f"row {rows[row]}: {found.titles[found.y[row]]}"
    caption = (
        f"{method.label}, class “{links.name}” and the row that fits it best ({row_name}). Left, "
        "the source atoms of the class, which began as seen classes; right, the target atoms of "
        "the row, by the rows that have most of each where these have pictures. Bars are weights, "
        "lines what a pair of atoms adds to the similarity: blue for the class, orange against "
        f"it. All links together add {links.total:+.2f}, those drawn {links.terms.sum():+.2f}."
    )
    examples = None
    if has_pictures(found.data):
        examples = [[row_picture(found.data, r) for r in rows[atom]] for atom in links.examples]
    shown = (links, examples, row_picture(found.data, rows[row]), row_name)
    place = "latent-links" if number == 1 else f"latent-links-{number}"
    alt = f"latent links between {links.name} and a row"
    return Shown(place, alt, caption, partial(plots.links_figure, *shown))


def gallery(
    found: Measurements,
    top: int,
    descriptions: Mapping[str, np.ndarray] = MappingProxyType({}),
    side: float = 0.9,
) -> Shown:
    """Pictures of the best rows of each class, after that of its description if there is one."""
    strips = []
    for title, returned in found.retrieved(top).items():
        pictures = [row_picture(found.data, r.row) for r in returned]
        right = [r.right for r in returned]
        strips.append(plots.Strip(title, descriptions.get(title), pictures, right))
    heading = f"{found.main.label}: the {top} best fits of each class"
    draw = partial(plots.gallery_figure, strips, heading, side=side)
    caption = "A red frame and a cross mark a false return: a row of another class."
    return Shown("retrieval", "the best fits of each class", caption, draw, photographs=True)
