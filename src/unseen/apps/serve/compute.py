"""What requests ask for, computed as the model's own functions do it, and looked over."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from unseen.apps.serve.bodies import as_rows, checked_rows
from unseen.apps.serve.encoders import DESCRIBED
from unseen.apps.serve.newcomers import Newcomers
from unseen.apps.serve.schemas import ExplainBody, PairsBody, PredictBody, RankBody
from unseen.apps.serve.scores import checked_similarities
from unseen.apps.serve.served import Served
from unseen.classes import ClassTable
from unseen.errors import InputError, nearest
from unseen.inference.relative import probabilities

_K_CANDIDATES = 5
_K_ROWS = 24


def named(served: Served, X: np.ndarray, body: PredictBody) -> dict[str, Any]:
    """`predicted` among the candidates of a request, its own classes included."""
    new = Newcomers(body.classes, served.model.class_table_)
    found = predicted(served, X, body.k, new.joined(served.candidates(body.candidates)))
    if body.classes:
        found["names"] = [[new.shown(name) for name in line] for line in found["names"]]
    return found


def predicted(served: Served, X: np.ndarray, k: int | None, table: ClassTable) -> dict[str, Any]:
    """`model.top_k`, with the probabilities of `predict_proba` where the model has it."""
    model = served.model
    k = min(_K_CANDIDATES, table.n_classes) if k is None else k
    if k > table.n_classes:
        raise InputError(f"k={k} is more than the {table.n_classes} candidates there are")
    scores = finite(checked_similarities(model, X, table), "row")
    best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    rows = np.arange(len(X))[:, None]
    chances = None
    if hasattr(model, "predict_proba"):
        chances = probabilities(scores, model._temperature())[rows, best].tolist()
    return {
        "names": table.names[best].tolist(),
        "scores": scores[rows, best].tolist(),
        "probabilities": chances,
        "labels": None,
        "pictures": None,
    }


def ranked(served: Served, body: RankBody) -> dict[str, Any]:
    """`model.rank` of a class or of a description, on the gallery."""
    data, described = served.needs_gallery(), _description(served, body)
    own = {} if described is None else {DESCRIBED: described}
    new = Newcomers({**(body.classes or {}), **own}, served.model.class_table_)
    name = body.name if described is None else DESCRIBED
    wanted = new.one(name) if name in new else served.model._candidates([name])
    k = min(_K_ROWS, served.gallery.n_rows) if body.k is None else body.k
    against = None
    if body.against is not None:
        against = new.joined(served.candidates(body.against))
    best = served.gallery.rank(wanted, k, against)
    finite(best.scores[:, None], "description")
    rows = best.rows.tolist()
    rivals = []
    if body.rivals:
        joint = _competing(wanted, new.joined(served.candidates("all")))
        rivals = _rivals(served, np.asarray(data.X[rows]), joint, new)[: body.rivals]
    said = None if body.sentence is None else described
    found = {"rows": rows, "scores": best.scores.tolist(), **data.shown(rows)}
    return found | {"rivals": rivals, "vector": said}


def _competing(wanted: ClassTable, known: ClassTable) -> ClassTable:
    """One class, and then all whose description is another: with its own it would only tie."""
    differ = (known.vectors != wanted.vectors[0]).any(axis=1) & (known.names != wanted.names[0])
    return wanted.merge(known.select(known.names[differ])) if differ.any() else wanted


def _description(served: Served, body: RankBody) -> list[float] | None:
    """What to look for, if it is not a class that has a name."""
    if body.sentence is not None:
        return served.sentence(body.sentence).vectors[0].tolist()
    if body.attributes is not None:
        return _by_name(body, served.model)
    return body.vector


def _by_name(body: RankBody, model: Any) -> list[float]:
    """The description in which some attributes are set and others are those of a class, or zero."""
    table = model.class_table_
    start = body.start
    vector = (
        np.zeros(table.n_attributes) if start is None else model._candidates([start]).vectors[0]
    )
    vector = vector.astype(np.float64)
    known = {name: place for place, name in enumerate(table.attributes or ())}
    for name, value in (body.attributes or {}).items():
        if name not in known:
            raise InputError(f"no attribute {name[:60]!r}{nearest(name[:60], known)}")
        vector[known[name]] = value
    return vector.tolist()


def _rivals(
    served: Served, X: np.ndarray, joint: ClassTable, new: Newcomers
) -> list[dict[str, Any]]:
    """The classes by which rows would be named if the one wanted competed with all."""
    best = joint.names[finite(served.model.similarities(X, joint), "row").argmax(axis=1)].tolist()
    seen = set(served.model.seen_classes_.tolist())
    counts = {name: best.count(name) for name in dict.fromkeys(best)}
    order = sorted(counts, key=lambda name: -counts[name])
    return [{"name": new.shown(n), "seen": n in seen, "rows": counts[n]} for n in order]


def explained(served: Served, body: ExplainBody) -> dict[str, Any]:
    """`model.explain`."""
    explain = served.needs("explain", "give reasons")
    if body.gallery is not None:
        X = served.gallery_rows([body.gallery])
    else:
        X = checked_rows(as_rows([body.row or []]), served.width, 1)
    known = served.model.class_table_
    new = Newcomers(body.classes, known)
    if body.name is not None and body.name not in new:
        served.model._candidates([body.name])  # an unknown name is said before any work
    if body.classes:
        explain = served.model.reveal(new.joined(known)).explain
    reasons = explain(X, new.key(body.name), body.top)
    reasons = replace(reasons, name=new.shown(reasons.name))
    tables = [
        {"title": title, "columns": columns, "lines": lines}
        for title, columns, lines in reasons.tables()
    ]
    found = asdict(reasons)
    if not all(np.isfinite(v) for v in found.values() if isinstance(v, float)):
        raise _too_large("row")
    return {"name": found["name"], "score": found["score"], "tables": tables, "reasons": found}


def paired(served: Served, body: PairsBody) -> dict[str, Any]:
    """`score_pairs`, `predict_pairs` and, where it was learned, `pair_probabilities`."""
    score = served.needs("score_pairs", "score pairs")
    S, X = as_rows(body.sources, "source"), as_rows(body.targets, "target")
    most = served.limits.pairs
    if len(S) * len(X) > most:
        raise InputError(f"{len(S) * len(X):,} pairs are more than the {most:,} of one request")
    X = checked_rows(X, served.width, served.limits.rows)
    width = served.model.class_table_.n_attributes
    if S.shape[1] != width:
        raise InputError(f"sources have {S.shape[1]} numbers, those of training had {width}")
    scores = finite(score(S, X), "target")
    theta = {} if body.threshold is None else {"threshold": body.threshold}
    matches = served.model.predict_pairs(S, X, **theta) > 0
    try:
        chances = finite(served.model.pair_probabilities(S, X), "target").tolist()
    except InputError:  # the model has not learned them
        chances = None
    return {"scores": scores.tolist(), "matches": matches.tolist(), "probabilities": chances}


def finite(scores: np.ndarray, what: str) -> np.ndarray:
    """The scores, if all of them are numbers that JSON can hold."""
    if not np.isfinite(scores).all():
        raise _too_large(what)
    return scores


def _too_large(what: str) -> InputError:
    return InputError(f"the values of a {what} are too large: its scores are not finite numbers")
