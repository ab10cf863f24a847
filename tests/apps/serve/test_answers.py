"""Answers are what the model's own functions return, to the last bit."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import httpx
import numpy as np
import pytest

from tests.apps.serve.conftest import asking
from unseen import ESZSL, JLSE, ClassTable, GaussianMatch, ZeroShotDataset
from unseen.apps.serve.attributes import described_attributes
from unseen.apps.serve.served import Current, Served
from unseen.datasets.embedded import seven_segments
from unseen.estimators import GFZSL, Ensemble
from unseen.rows import RowScaler


def npy(X: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, X)
    return stream.getvalue()


def posted(client: httpx.Client, path: str, **body: Any) -> dict[str, Any]:
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_predict_of_json_rows(client: httpx.Client, model: GaussianMatch, shapes: ZeroShotDataset):
    X = shapes.X[::50].astype(np.float64)
    found = posted(client, "/v1/predict", rows=X.tolist(), k=3)
    names, scores = model.top_k(X, 3)
    assert found["names"] == names.tolist()
    assert np.array_equal(found["scores"], scores)
    best = [line[0] for line in found["names"]]
    assert best == model.predict(X).tolist()
    chances = np.sort(model.predict_proba(X), axis=1)[:, :-4:-1]
    assert np.array_equal(found["probabilities"], chances)


@pytest.mark.parametrize("candidates", ["all", "seen", ["red plain star", "blue striped cross"]])
def test_predict_among_candidates(
    client: httpx.Client, model: GaussianMatch, shapes: ZeroShotDataset, candidates: Any
):
    X = shapes.X[::80].astype(np.float64)
    found = posted(client, "/v1/predict", rows=X.tolist(), candidates=candidates, k=2)
    assert found["names"] == model.top_k(X, 2, candidates).names.tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ">f4", np.int8])
def test_predict_of_npy(
    client: httpx.Client, model: GaussianMatch, shapes: ZeroShotDataset, dtype: Any
):
    X = shapes.X[::7].astype(dtype)
    headers = {"Content-Type": "application/x-npy"}
    answer = client.post("/v1/predict?k=2&candidates=all", content=npy(X), headers=headers)
    names, scores = model.top_k(X, 2, "all")
    assert answer.json()["names"] == names.tolist()
    assert np.array_equal(answer.json()["scores"], scores)


def test_predict_of_a_fortran_array_and_of_one_row(
    client: httpx.Client, model: GaussianMatch, shapes: ZeroShotDataset
):
    headers = {"Content-Type": "application/x-npy"}
    for X in (np.asfortranarray(shapes.X[:9]), shapes.X[0]):
        answer = client.post("/v1/predict", content=npy(X), headers=headers)
        best = [line[0] for line in answer.json()["names"]]
        assert best == model.predict(np.atleast_2d(X)).tolist()


def test_csv_is_put_into_the_order_of_the_models_columns(
    serve: Any, model: GaussianMatch, shapes: ZeroShotDataset
):
    pandas = pytest.importorskip("pandas")
    X, y = shapes.training_set()
    names = [f"f{k}" for k in range(X.shape[1])]
    named = GaussianMatch().fit(pandas.DataFrame(X, columns=names), y, shapes.classes)
    text = io.StringIO()
    csv.writer(text).writerows([names[::-1], *shapes.X[:3, ::-1].astype(float).tolist()])
    with asking(serve(named)) as client:
        headers = {"Content-Type": "text/csv"}
        answer = client.post("/v1/predict", content=text.getvalue(), headers=headers)
    expected = model.predict(shapes.X[:3].astype(float)).tolist()
    assert [line[0] for line in answer.json()["names"]] == expected


def test_rows_of_the_gallery(client: httpx.Client, model: GaussianMatch, shapes: ZeroShotDataset):
    found = posted(client, "/v1/predict", gallery=[3, 77])
    assert found["names"][1][0] == model.predict(shapes.X[[3, 77]])[1]
    assert found["labels"] == shapes.y[[3, 77]].tolist()


def test_rank_of_a_class(client: httpx.Client, model: GaussianMatch, shapes: ZeroShotDataset):
    found = posted(client, "/v1/rank", name="red plain star", k=20)
    rows, scores = model.rank("red plain star", shapes.X, 20)
    assert found["rows"] == rows.tolist()
    assert np.array_equal(found["scores"], scores)
    assert found["labels"] == shapes.y[rows].tolist()


def test_rank_against_others(client: httpx.Client, model: GaussianMatch, shapes: ZeroShotDataset):
    found = posted(client, "/v1/rank", name="red plain star", k=20, against="unseen")
    rows, scores = model.rank("red plain star", shapes.X, 20, "unseen")
    assert found["rows"] == rows.tolist()
    assert np.array_equal(found["scores"], scores)


def test_rank_of_a_description(client: httpx.Client, model: GaussianMatch, shapes: ZeroShotDataset):
    vector = shapes.classes.vector("green hollow cross") * 0.5
    table = ClassTable(["described"], [vector], shapes.classes.attributes)
    rows = model.reveal(table).rank("described", shapes.X, 24).rows.tolist()
    assert posted(client, "/v1/rank", vector=vector.tolist())["rows"] == rows
    words = {"green": 0.5, "hollow": 0.5, "cross": 0.5}
    assert posted(client, "/v1/rank", attributes=words)["rows"] == rows
    start = {"name": "green hollow star"}["name"]
    changed = {**words, "star": 0.0}
    assert posted(client, "/v1/rank", attributes=changed, start=start)["rows"] == rows


def test_rivals_are_what_the_rows_would_be_named(
    client: httpx.Client, model: GaussianMatch, shapes: ZeroShotDataset
):
    found = posted(client, "/v1/rank", name="red plain star", k=30, rivals=50)
    named = model.predict(shapes.X[found["rows"]], "all").tolist()
    assert {r["name"]: r["rows"] for r in found["rivals"]} == {n: named.count(n) for n in named}
    seen = set(model.seen_classes_.tolist())
    assert all(r["seen"] == (r["name"] in seen) for r in found["rivals"])
    vector = shapes.classes.vector("red plain star").tolist()
    described = posted(client, "/v1/rank", vector=vector, k=30, rivals=50)
    names = [r["name"].replace("described", "red plain star") for r in described["rivals"]]
    assert names == [r["name"] for r in found["rivals"]]  # no class competes with itself


def test_classes_that_a_request_brings(
    client: httpx.Client, model: GaussianMatch, shapes: ZeroShotDataset
):
    vector = shapes.classes.vectors.mean(axis=0)
    new = {"dull thing": vector.tolist()}
    X = shapes.X[:5].astype(np.float64)
    table = ClassTable(["dull thing"], [vector], shapes.classes.attributes)
    revealed = model.reveal(table)
    found = posted(client, "/v1/predict", rows=X.tolist(), candidates="all", classes=new, k=61)
    for name, scores in zip(found["names"], found["scores"], strict=True):
        assert set(name) == set(revealed.class_table_.names.tolist())
        assert scores == sorted(scores, reverse=True)
    ranked = posted(client, "/v1/rank", name="dull thing", classes=new)
    assert ranked["rows"] == revealed.rank("dull thing", shapes.X, 24).rows.tolist()
    why = posted(client, "/v1/explain", gallery=2, name="dull thing", classes=new)
    assert why["score"] == revealed.explain(shapes.X[2], "dull thing").score


def test_classes_that_are_numbers(serve: Any, shapes: ZeroShotDataset):
    """New ones are named by texts all the same."""
    number = {name: k for k, name in enumerate(shapes.classes.names.tolist())}
    table = ClassTable(range(60), shapes.classes.vectors, shapes.classes.attributes)
    X, y = shapes.training_set()
    model = GaussianMatch().fit(X, [number[name] for name in y], table)
    vector = shapes.classes.vectors.mean(axis=0)
    revealed = model.reveal(ClassTable([60], [vector], table.attributes))
    new = {"dull thing": vector.tolist()}

    def renamed(names: list[Any]) -> list[Any]:
        return ["dull thing" if name == 60 else name for name in names]

    with asking(serve(model)) as client:
        found = posted(client, "/v1/predict", gallery=[3], candidates="all", classes=new, k=61)
        names = revealed.top_k(shapes.X[[3]], 61, "all").names[0].tolist()
        assert found["names"] == [renamed(names)]
        ranked = posted(
            client, "/v1/rank", name="dull thing", classes=new, against="all", rivals=50
        )
        assert ranked["rows"] == revealed.rank(60, shapes.X, 24, "all").rows.tolist()
        named = renamed(revealed.predict(shapes.X[ranked["rows"]], "all").tolist())
        assert {r["name"]: r["rows"] for r in ranked["rivals"]} == {
            name: named.count(name) for name in named
        }
        why = posted(client, "/v1/explain", gallery=2, name="dull thing", classes=new)
        assert why["name"] == why["tables"][0]["lines"][0][0] == "dull thing"
        assert why["score"] == revealed.explain(shapes.X[2], 60).score
        described = posted(client, "/v1/rank", vector=vector.tolist(), rivals=3)
        assert described["rows"] == revealed.rank(60, shapes.X, 24).rows.tolist()


def test_explain(client: httpx.Client, model: GaussianMatch, shapes: ZeroShotDataset):
    x = shapes.X[5].astype(np.float64)
    found = posted(client, "/v1/explain", row=x.tolist(), name="red plain cross", top=3)
    expected = model.explain(x, "red plain cross", 3)
    assert found["score"] == expected.score
    assert found["reasons"]["similarity"] == expected.similarity
    assert [t["title"] for t in found["tables"]] == [title for title, *_ in expected.tables()]
    assert posted(client, "/v1/explain", row=x.tolist())["name"] == model.predict(x[None])[0]


def test_pairs(client: httpx.Client, model: GaussianMatch, shapes: ZeroShotDataset):
    S, X = shapes.classes.vectors[:4], shapes.X[:6].astype(np.float64)
    found = posted(client, "/v1/pairs", sources=S.tolist(), targets=X.tolist())
    assert np.array_equal(found["scores"], model.score_pairs(S, X))
    assert np.array_equal(found["matches"], model.predict_pairs(S, X) > 0)
    assert np.array_equal(found["probabilities"], model.pair_probabilities(S, X))
    raised = posted(client, "/v1/pairs", sources=S.tolist(), targets=X.tolist(), threshold=5.0)
    assert np.array_equal(raised["matches"], model.predict_pairs(S, X, 5.0) > 0)


def test_the_open_inference_protocol(
    client: httpx.Client, model: GaussianMatch, shapes: ZeroShotDataset
):
    X = shapes.X[:2].astype(np.float64)
    facts = client.get("/v2/models/shapes").json()
    given = facts["inputs"][0]
    assert given["shape"] == [-1, X.shape[1]]
    tensor = {"name": given["name"], "shape": list(X.shape), "datatype": given["datatype"]}
    body = {"id": "7", "inputs": [{**tensor, "data": X.ravel().tolist()}], "parameters": {"k": 2}}
    found = posted(client, "/v2/models/shapes/infer", **body)
    names, scores = model.top_k(X, 2)
    assert found["id"] == "7"
    outputs = {output["name"]: output for output in found["outputs"]}
    assert outputs["classes"]["data"] == names.ravel().tolist()
    assert outputs["classes"]["shape"] == [2, 2]
    assert np.array_equal(outputs["scores"]["data"], scores.ravel())
    assert client.get("/v2/models/other").status_code == 404
    scores_alone = posted(client, "/v2/models/shapes/infer", **body, outputs=[{"name": "scores"}])
    assert scores_alone["outputs"] == [outputs["scores"]]
    wrong = client.post("/v2/models/shapes/infer", json=body | {"outputs": [{"name": "logits"}]})
    assert wrong.status_code == 400
    assert "there is no 'logits'" in wrong.json()["error"]
    content = json.dumps(body).encode()  # as its clients send it: without a Content-Type
    assert client.post("/v2/models/shapes/infer", content=content).json() == found
    binary = {"Inference-Header-Content-Length": "9"}
    wrong = client.post("/v2/models/shapes/infer", content=content, headers=binary)
    assert wrong.status_code == 415
    assert "binary_data=False" in wrong.json()["error"]


def test_model_and_classes(client: httpx.Client, shapes: ZeroShotDataset):
    facts = client.get("/v1/model").json()
    assert (facts["seen"], facts["unseen"], facts["columns"]) == (48, 12, 192)
    assert facts["gallery"]["rows"] == len(shapes.X)
    found = client.get("/v1/classes").json()
    by_name = {one["name"]: one for one in found["classes"]}
    assert by_name["red plain star"]["vector"] == shapes.classes.vector("red plain star").tolist()
    assert not by_name[shapes.unseen[0]]["seen"]
    assert len(found["attributes"]) == 12


@pytest.mark.parametrize("kind", [JLSE, ESZSL, GFZSL])
def test_other_methods(kind: Any, shapes: ZeroShotDataset, serve: Any):
    X, y = shapes.training_set()
    model = kind().fit(X[::4], y[::4], shapes.classes)
    with asking(serve(model)) as client:
        found = posted(client, "/v1/rank", name="red plain star", k=9, against="all")
        assert found["rows"] == model.rank("red plain star", shapes.X, 9, "all").rows.tolist()
        rows = shapes.X[:3].astype(float)
        named = posted(client, "/v1/predict", rows=rows.tolist(), candidates="all")
        assert [line[0] for line in named["names"]] == model.predict(rows, "all").tolist()
        assert named["probabilities"] is None  # they need a calibration
        answer = client.post("/v1/explain", json={"gallery": 0})
        facts = client.get("/v1/model").json()
        assert (facts["explains"], facts["probabilities"]) == (kind is not GFZSL, False)
        assert answer.status_code == (400 if kind is GFZSL else 200)
        if kind is GFZSL:
            assert "GFZSL gives no reasons" in answer.json()["error"]


def test_an_ensemble_is_searched_though_it_has_no_index(shapes: ZeroShotDataset, serve: Any):
    X, y = shapes.training_set()
    model = Ensemble([ESZSL(), GaussianMatch()]).fit(X, y, shapes.classes)
    with asking(serve(model)) as client:
        for against in (None, "all"):
            found = posted(client, "/v1/rank", name="red plain star", k=9, against=against)
            rows, scores = model.rank("red plain star", shapes.X, 9, against)
            assert found["rows"] == rows.tolist()
            assert np.array_equal(found["scores"], scores)


def test_a_calibrated_model_gives_its_probabilities(shapes: ZeroShotDataset, serve: Any):
    X, y = shapes.training_set()
    model = ESZSL().fit(X, y, shapes.classes).calibrate_seen(X, y)
    rows = shapes.X[:3].astype(float)
    with asking(serve(model)) as client:
        found = posted(client, "/v1/predict", rows=rows.tolist(), candidates="all", k=60)
    assert found["probabilities"] == np.sort(model.predict_proba(rows, "all"))[:, ::-1].tolist()


def test_huge_values_are_refused_and_never_an_answer(shapes: ZeroShotDataset):
    scaler = RowScaler(unit_length=False, center=False)
    model = ESZSL(row_scaler=scaler).fit(*shapes.training_set(), shapes.classes)
    served = Current(Served(model, "raw"))
    with asking(served) as client:
        rows = np.full((1, 192), 3e38, dtype=np.float32)
        headers = {"Content-Type": "application/x-npy"}
        answer = client.post("/v1/predict", content=npy(rows), headers=headers)
        assert answer.status_code == 400
        assert "too large" in answer.json()["error"]
        answer = client.post("/v1/predict", json={"rows": [[1e308] * 192]})
        assert answer.status_code == 400
        fine = client.post("/v1/predict", json={"rows": [[1e36] * 192]})
        assert fine.status_code == 200
        assert np.isfinite(fine.json()["scores"]).all()


def test_opposites_move_together():
    columns = described_attributes(seven_segments())
    assert [columns[k]["opposite"] for k in (0, 6, 7, 13)] == [7, 13, 0, 6]
    assert {c["group"] for c in columns} == {"attributes"}


def test_groups_are_prefixes_and_what_tells_most_is_what_parts_classes_evenly():
    vectors = [[1, 0, 0.2], [1, 1, 0.2], [0, 0, 0.2], [0, 0, 0.2]]
    names = ["has_bill_shape::dagger", "colour: red", "size=large"]
    columns = described_attributes(ClassTable(["a", "b", "c", "d"], vectors, names))
    assert [c["group"] for c in columns] == ["bill shape", "colour", "size"]
    assert [c["label"] for c in columns] == ["dagger", "red", "large"]
    assert columns[0]["telling"] > columns[1]["telling"] > columns[2]["telling"] == 0
    assert columns[0]["opposite"] is None
