"""What strangers send, what breaks on the disk, and who may ask at all."""

from __future__ import annotations

import io
import os
import pickle
import struct
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from PIL import Image

from tests.apps.serve.conftest import asking
from tests.apps.serve.test_answers import npy
from unseen import ESZSL, GaussianMatch, InputError, ZeroShotDataset
from unseen.apps.serve.pictures import Thumbnails
from unseen.apps.serve.run import Given, address, from_file, gallery_of, listening
from unseen.apps.serve.served import Current, GalleryData, Served
from unseen.apps.serve.settings import Settings

TOKEN = "a-long-token"
NPY = {"Content-Type": "application/x-npy"}


def png(picture: Image.Image) -> bytes:
    stream = io.BytesIO()
    picture.save(stream, "PNG")
    return stream.getvalue()


def huge_png(width: int, height: int) -> bytes:
    """A picture that announces more pixels than it has."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + check

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IDAT", zlib.compress(bytes(1000)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + body + chunk(b"IEND", b"")


def refused(answer: httpx.Response, status: int, *words: str) -> None:
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"error"}
    for word in words:
        assert word in answer.json()["error"]


# -- bodies ------------------------------------------------------------------------------------


def _objects() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    return stream.getvalue()


GOOD = npy(np.zeros((2, 192), dtype=np.float32))
BAD_NPY = {
    "pickled": (_objects(), "pickle"),
    "a bare pickle": (pickle.dumps([1, 2]), "not a .npy"),
    "empty": (b"", "not a .npy"),
    "truncated header": (GOOD[:50], "not a .npy"),
    "truncated": (GOOD[:-4], "truncated"),
    "too long": (GOOD + b"1234", "truncated"),
    "lying about its rows": (GOOD.replace(b"(2, 192)", b"(9, 192)"), "truncated"),
    "lying without end": (GOOD.replace(b"(2, 192), }", b"(9**9,1), }"), "not a .npy"),
    "endless": (GOOD.replace(b"(2, 192), }  ", b"(9999999999,)"), ""),
    "negative": (GOOD.replace(b"(2, 192)", b"(-2,192)"), ""),
    "text": (npy(np.array([["a"] * 192])), "numbers"),
    "complex": (npy(np.zeros((1, 192), dtype=complex)), "numbers"),
    "dates": (npy(np.zeros((1, 192), dtype="M8[s]")), "numbers"),
    "records": (npy(np.zeros(3, dtype=[("a", "f4")])), "numbers"),
    "not a table": (npy(np.zeros((1, 2, 192))), "table"),
    "no rows": (npy(np.zeros((0, 192))), "empty"),
    "too narrow": (npy(np.zeros((1, 191))), "191 numbers"),
    "NaN": (npy(np.full((1, 192), np.nan)), "NaN"),
    "infinite": (npy(np.full((1, 192), np.inf)), "NaN or infinite"),
    "too many": (npy(np.zeros((1025, 192), dtype=np.int8)), "1,024"),
}


@pytest.mark.parametrize("name", BAD_NPY)
def test_npy(client: httpx.Client, name: str):
    content, word = BAD_NPY[name]
    refused(client.post("/v1/predict", content=content, headers=NPY), 400, word)


BAD_JSON = {
    "not JSON": (b"{", "it is no JSON"),
    "not UTF-8": (b'{"rows":[["\xff"]]}', ""),
    "NaN": (b'{"rows":[[NaN]]}', "finite"),
    "beyond floats": (b'{"rows":[[1e999]]}', "finite"),
    "a text": (b'{"rows":[["1"]]}', "rows.0.0 must be a number"),
    "ragged": (b'{"rows":[[1,2],[1]]}', "row 1 has 1 numbers"),
    "both": (b'{"rows":[[1]],"gallery":[1]}', "exactly one"),
    "neither": (b"{}", "exactly one"),
    "not an object": (b"[]", "it must be an object"),
    "unknown word": (b'{"gallery":[1],"top":3}', "top is not known here"),
    "k of 0": (b'{"gallery":[1],"k":0}', "k must be at least 1"),
    "k of 1,001": (b'{"gallery":[1],"k":1001}', "k must be at most 1,000"),
    "no candidates": (b'{"gallery":[1],"candidates":[]}', "candidates must not be empty"),
    "no rows": (b'{"rows":[]}', "rows must not be empty"),
    "too many": (b'{"gallery":[' + b"1," * 1024 + b"1]}", "gallery may hold at most 1,024"),
    "no name": (b'{"gallery":[1],"candidates":"sen"}', "candidates must be 'all', 'seen' or"),
    "more than candidates": (b'{"gallery":[1],"k":13}', "13 is more than the 12"),
    "no such row": (b'{"gallery":[100000]}', "counted from 0"),
    "negative row": (b'{"gallery":[-1]}', ""),
    "misspelt": (b'{"gallery":[1],"candidates":["red plain stra"]}', "'red plain star'"),
    "twice": (b'{"gallery":[1],"candidates":["red plain star","red plain star"]}', "twice"),
    "short": (b'{"gallery":[1],"classes":{"x":[1]}}', "1 numbers"),
    "a long number": (b'{"gallery":[1],"candidates":[' + b"9" * 99 + b"]}", "64 bits"),
    "deep": (b'{"rows":' + b"[" * 100_000, ""),
}


@pytest.mark.parametrize("name", BAD_JSON)
def test_json(client: httpx.Client, name: str):
    content, word = BAD_JSON[name]
    headers = {"Content-Type": "application/json"}
    refused(client.post("/v1/predict", content=content, headers=headers), 400, word)


@pytest.mark.parametrize(
    ("text", "word"),
    [("a,b\n1,2", "2 numbers"), ("1,2\n3", "row 1"), ("1,x", "no rows"), ("\xff", "no rows")],
)
def test_csv(client: httpx.Client, text: str, word: str):
    headers = {"Content-Type": "text/csv"}
    refused(client.post("/v1/predict", content=text.encode(), headers=headers), 400, word)


def test_a_known_class_is_not_described_anew(client: httpx.Client, shapes: ZeroShotDataset):
    other = {"red plain star": shapes.classes.vector("blue plain star").tolist()}
    for path, what in (("predict", {"gallery": [1]}), ("rank", {"name": "red plain star"})):
        refused(client.post(f"/v1/{path}", json=what | {"classes": other}), 400, "known already")


def test_other_kinds_of_bodies(client: httpx.Client):
    refused(client.post("/v1/predict", content=b"1"), 415, "one of application/json")
    refused(client.post("/v1/rank", content=b"1", headers=NPY), 415, "must be application/json")
    assert client.head("/").status_code == 200
    refused(client.put("/v1/rank"), 405)
    refused(client.get("/v1/rank"), 405)
    refused(
        client.post("/v1/rank", json={"sentence": "a red star"}), 400, "no sentences", "numbers"
    )


# -- pictures ----------------------------------------------------------------------------------


def test_a_picture_of_a_class_is_named(client: httpx.Client, shapes: ZeroShotDataset):
    assert shapes.images is not None
    rows = np.flatnonzero(shapes.y == "red plain star")
    files = [
        ("pictures", ("p.png", png(Image.fromarray(np.uint8(shapes.images[r] * 255)))))
        for r in rows
    ]
    answer = client.post("/v1/predict/pictures", files=files)
    named = [line[0] for line in answer.json()["names"]]
    assert named.count("red plain star") >= len(rows) // 2


def test_pictures(client: httpx.Client):
    def post(*contents: bytes) -> httpx.Response:
        files = [("pictures", ("p.png", content)) for content in contents]
        return client.post("/v1/predict/pictures", files=files)

    refused(post(huge_png(50_000, 50_000)), 400, "pixels", "picture 0")
    refused(post(huge_png(5_000, 7_000)), 400, "picture")
    refused(post(b"GIF89a"), 400, "picture")
    refused(post(b"%!PS-Adobe-3.0 EPSF-3.0\n"), 400, "picture")
    small = png(Image.new("RGB", (4, 4)))
    assert post(*[small] * 16).status_code == 200
    refused(post(*[small] * 17), 413, "16")
    no_file = client.post("/v1/predict/pictures", files={"x": (None, b"text")})
    refused(no_file, 400, "no file")
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    refused(client.post("/v1/predict/pictures", content=b"--y", headers=headers), 400)
    headers = {"Content-Type": "multipart/form-data"}
    refused(client.post("/v1/predict/pictures", content=b"--y", headers=headers), 400)


def test_a_model_without_an_encoder(model: GaussianMatch):
    with asking(Current(Served(model, "plain"))) as client:
        files = {"pictures": ("p.png", png(Image.new("RGB", (4, 4))))}
        refused(client.post("/v1/predict/pictures", files=files), 400, "no encoder")
        refused(client.post("/v1/rank", json={"name": "red plain star"}), 400, "--data")
        refused(client.get("/v1/gallery/0/thumb"), 404)


# -- thumbnails --------------------------------------------------------------------------------


def test_thumbnails_of_arrays(client: httpx.Client):
    answer = client.get("/v1/gallery/3/thumb")
    assert answer.headers["Content-Type"] == "image/png"
    assert Image.open(io.BytesIO(answer.content)).size == (32, 32)


@pytest.mark.parametrize(
    "row", ["480", "-1", "1e3", "..", "%2e%2e", "..%2f..%2fetc%2fpasswd", "0x1", "9" * 400, "%00"]
)
def test_thumbnails_are_known_by_number_alone(client: httpx.Client, row: str):
    answer = client.get(f"/v1/gallery/{row}/thumb")
    assert answer.status_code in (400, 404)
    words = ("no picture", "whole number, from 0", "nothing at this address")
    assert any(word in answer.json()["error"] for word in words)


@pytest.mark.parametrize(
    "path", ["../app.py", "%2e%2e/app.py", "..%2fapp.py", "//etc/passwd", "%5c..%5capp.py"]
)
def test_nothing_but_the_page_is_served(client: httpx.Client, path: str):
    assert client.get(f"/static/{path}").status_code in (400, 404)


def test_thumbnails_of_files(tmp_path: Path, model: GaussianMatch, shapes: ZeroShotDataset):
    folder, secret = tmp_path / "data", tmp_path / "secret.png"
    folder.mkdir()
    Image.new("RGB", (400, 300), "red").save(secret)
    Image.new("RGB", (400, 300), "red").save(folder / "0.png")
    os.symlink(secret, folder / "1.png")
    (folder / "2.png").write_bytes(b"no picture")
    (folder / "3.png").mkdir()
    (folder / "4.png").write_bytes(huge_png(50_000, 50_000))
    names = ["0.png", "1.png", "2.png", "3.png", "4.png", "missing.png", "../secret.png"]
    paths = [str(folder / name) for name in names]
    data = GalleryData(shapes.X[:7], None, Thumbnails(paths=paths, folders=[folder]))
    with asking(Current(Served(model, "files", data))) as client:
        answers = [client.get(f"/v1/gallery/{k}/thumb") for k in range(7)]
        assert [a.status_code for a in answers] == [200] + [404] * 6
        assert max(Image.open(io.BytesIO(answers[0].content)).size) == 192
        (folder / "0.png").unlink()  # what was shown is kept for a while
        assert client.get("/v1/gallery/0/thumb").status_code == 200


# -- who may ask -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LOCALHOST:1", 200),
        ("127.0.0.1:9", 200),
        ("[::1]:9", 200),
        ("evil.example", 421),
        ("localhost.evil.example", 421),
        ("user@localhost", 421),
        ("10.0.0.1", 421),
        ("localhost:x", 421),
        ("", 421),
    ],
)
def test_host(client: httpx.Client, host: str, status: int):
    assert client.get("/livez", headers={"Host": host}).status_code == status


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
def test_origin(client: httpx.Client, origin: str):
    refused(client.get("/v1/model", headers={"Origin": origin}), 403, "other origins")
    own = f"http://{client.base_url.host}:{client.base_url.port}"
    answer = client.get("/v1/model", headers={"Origin": own})
    assert answer.status_code == 200
    assert "access-control-allow-origin" not in answer.headers


def test_headers_of_every_answer(client: httpx.Client):
    for path in ("/", "/livez", "/nothing", "/static/page.js"):
        headers = client.get(path).headers
        assert headers["Content-Security-Policy"].startswith("default-src 'self'")
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
    assert client.get("/static/page.js").headers["Cache-Control"] == "no-cache"
    assert client.get("/docs").status_code == 404


def test_the_token(serve: Any):
    with asking(serve(), token=TOKEN) as client:
        assert client.get("/livez").status_code == 200
        for path in ("/", "/metrics", "/v1/model", "/static/page.js", "/v2/models/shapes"):
            refused(client.get(path), 401, "token")
        refused(client.get("/v1/model", headers={"Authorization": "Bearer wrong"}), 401)
        right = {"Authorization": f"Bearer {TOKEN}"}
        assert client.get("/v1/model", headers=right).status_code == 200
        assert client.get("/?token=wrong").status_code == 401
        opened = client.get(f"/?token={TOKEN}")
        assert opened.status_code == 303
        assert "HttpOnly" in opened.headers["Set-Cookie"]
        assert "SameSite=strict" in opened.headers["Set-Cookie"]
        assert client.get("/v1/model").status_code == 200  # by the cookie
        refused(client.post("/v1/reload"), 403, "Bearer")  # which is not enough to change something


def test_other_machines_need_a_token():
    with pytest.raises(InputError, match="token is needed"):
        Settings("0.0.0.0")
    with pytest.raises(InputError, match="8 characters"):
        Settings("0.0.0.0", token="short")
    settings = Settings("0.0.0.0", token=TOKEN)
    assert address(settings) == f"http://0.0.0.0:8000/?token={TOKEN}"
    assert address(Settings("::1", 80)) == "http://[::1]:80/"


def test_a_port_that_is_taken():
    with listening(Settings(port=0)) as taken:
        taken.listen()
        with pytest.raises(InputError, match="--port takes another"):
            listening(Settings(port=taken.getsockname()[1]))


# -- another model -----------------------------------------------------------------------------


def test_reload(tmp_path: Path, model: GaussianMatch, shapes: ZeroShotDataset):
    path = tmp_path / "shapes.unseen"
    model.save(path)
    current = from_file(Given(path, "shapes", "unseen"), Settings())
    right = {"Authorization": f"Bearer {TOKEN}"}
    with asking(current, token=TOKEN) as client:
        client.headers.update(right)

        def method() -> str:
            return client.get("/v1/model").json()["method"]

        assert client.get("/v1/model").json()["gallery"]["rows"] == 12 * 30
        path.write_bytes(path.read_bytes()[:-100])
        refused(client.post("/v1/reload"), 409, "damaged", "stays")
        path.write_bytes(b"")
        refused(client.post("/v1/reload"), 409, "empty")
        path.unlink()
        refused(client.post("/v1/reload"), 409, "does not exist")
        narrow = ESZSL().fit(shapes.X[:, :9], shapes.y, shapes.classes)
        narrow.save(path)
        refused(client.post("/v1/reload"), 409, "9")
        assert method() == "gaussian-match"
        assert client.post("/v1/predict", json={"gallery": [0]}).status_code == 200
        ESZSL().fit(*shapes.training_set(), shapes.classes).save(path)
        assert client.post("/v1/reload").json()["method"] == "eszsl"
        assert method() == "eszsl"


def test_reload_without_a_token_or_a_file(client: httpx.Client, serve: Any):
    refused(client.post("/v1/reload"), 403, "--token")
    with asking(serve(), token=TOKEN) as other:
        right = {"Authorization": f"Bearer {TOKEN}"}
        refused(other.post("/v1/reload", headers=right), 409, "no file")


def test_galleries(shapes: ZeroShotDataset, tmp_path: Path):
    with pytest.raises(InputError, match="'all' or 'unseen'"):
        gallery_of(shapes, "some", [], Settings())
    found = gallery_of(shapes, "unseen", [], Settings())
    assert set(found.labels.tolist() if found.labels is not None else []) == set(shapes.unseen)
    paths = np.array([f"{tmp_path}/{k}.png" for k in range(len(shapes.X))])
    named = gallery_of(
        replace(shapes, images=None, image_paths=paths), "all", [tmp_path], Settings()
    )
    assert named.thumbnails is not None
    assert named.thumbnails.get(0) is None
