"""From real photographs and words to figures: python -m benchmarks.thumbnails lite0.onnx

Embeds the thumbnails (96 pixels) that come with AWA35 and CUB by the encoder that is named, with
three kinds of class descriptions: attributes, words as text by TF-IDF, and, if --text names one, by
a sentence encoder. Every third class of AWA35 and every fifth one of CUB is
unseen, in alphabetical order. Only classes without training rows in the published splits have
thumbnails, so this is a demonstration on a split of our own and no benchmark of a method.
"""

from __future__ import annotations

import argparse
import csv
import tempfile
from pathlib import Path

import numpy as np

from benchmarks import data as data  # finds the folder of real data
from unseen import GaussianMatch, evaluate, open_dataset, read_dataset
from unseen.classes import ClassTable
from unseen.datasets import data_folder
from unseen.datasets.embed import embed_folder


def awa35() -> tuple[Path, ClassTable, dict[str, str]]:
    """Photographs, attributes, and the attributes that a class has as text."""
    with np.load(data_folder() / "AWA35" / "efflite0.npz") as found:
        names, marks = found["source_classes"], found["attributes_binary"] > 0
        predicates, numbers = found["predicates"], found["attributes_continuous"]
    text = {name: ", ".join(predicates[row]) for name, row in zip(names, marks, strict=True)}
    photos = data_folder() / "AWA35" / "thumbs" / "animals90"
    return photos, ClassTable(names, numbers, predicates), text


def cub() -> tuple[Path, ClassTable, dict[str, str]]:
    """Photographs, attributes, and the words of the article about a bird, best ones first."""
    with np.load(data_folder() / "CUB" / "wiki_tfidf.npz") as found:
        classes, weights, words = found["classes"], found["tfidf"], found["vocabulary"]
    text = {}
    for name, weight in zip(classes.tolist(), weights.astype(np.float32), strict=True):
        best = np.argsort(-weight, kind="stable")[: np.count_nonzero(weight)]
        text[name] = f"{name[4:].replace('_', ' ')}: {' '.join(words[best])}"
    return data_folder() / "CUB" / "thumbs", open_dataset("CUB efflite0").classes, text


def write(path: Path, header: list[str], lines: list[list[str]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *lines])
    return path


def measure(name: str, every: int, images: str, text_encoder: str | None) -> None:
    photos, table, text = awa35() if name == "AWA35" else cub()
    names = sorted(p.name for p in photos.iterdir() if p.is_dir())
    unseen = names[every - 1 :: every]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        columns = [f"attribute {k}" for k in range(table.n_attributes)]
        numbers = [[n, *map(str, table.vector(n))] for n in names]
        words = write(folder / "words.csv", ["name", "text"], [[n, text[n]] for n in names])
        kinds = {
            "attributes": (write(folder / "numbers.csv", ["name", *columns], numbers), "tfidf")
        }
        kinds["words, TF-IDF"] = words, "tfidf"
        if text_encoder:
            kinds["words, sentence encoder"] = words, text_encoder
        for kind, (classes, encoder) in kinds.items():
            out = folder / "data"
            done = embed_folder(photos, out, classes, images=images, text=encoder)
            (out / "unseen.txt").write_text("\n".join(unseen), encoding="utf-8")
            found = read_dataset(out)
            model = GaussianMatch().fit(*found.training_set(), classes=found.classes)
            result = evaluate(model, found)
            part = f"{len(unseen)} of {len(names)} classes unseen"
            scores = (result.per_class_accuracy, 1 / len(unseen), result.mean_average_precision)
            cells = [f"{name}, {done.n_pictures} pictures, {part}", kind]
            cells += [f"{100 * score:.1f} %" for score in scores]
            print("|", " | ".join(cells), "|", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("images")
    parser.add_argument("--text")
    given = parser.parse_args()
    print("| pictures | classes described by | top-1 | chance | mAP |")
    print("| --- | --- |" + " ---: |" * 3)
    measure("AWA35", 3, given.images, given.text)
    measure("CUB", 5, given.images, given.text)


if __name__ == "__main__":
    main()
