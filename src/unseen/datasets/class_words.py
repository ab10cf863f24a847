"""Words about classes, made ready to stand beside pictures: a class table as a .csv file."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import Any

import numpy as np

from unseen.classes import ClassTable
from unseen.errors import InputError, listed, nearest
from unseen.files.tables import read_table

TFIDF = "tfidf"
_TABLES = (".csv", ".tsv", ".parquet")


@dataclass(frozen=True)
class ClassWords:
    """Classes with what is said of them: columns of text, and columns of numbers."""

    names: list[str]
    text: dict[str, list[str]]
    numbers: dict[str, list[str]]

    def prompts(self, template: str) -> list[str]:
        """The template with the name of each class and its description filled in."""
        filled = []
        for k, name in enumerate(self.names):
            columns = {column: cells[k] for column, cells in self.text.items()}
            said = ", ".join(cell for cell in columns.values() if cell)
            words = {"description": said or name} | columns | {"name": name.replace("_", " ")}
            filled.append(template.format_map(words))
        return filled


def read_words(path: Path) -> ClassWords:
    """A table whose first column names the classes; the others hold text or numbers."""
    if path.suffix not in _TABLES:
        raise InputError(f"{path}: words about classes must be a file of kind {', '.join(_TABLES)}")
    columns = {c: cells.tolist() for c, cells in read_table(path, text=None).text.items()}
    names = columns.pop(next(iter(columns)))
    empty = next((k for k, name in enumerate(names) if not name), None)
    if empty is not None:
        raise InputError(f"{path}, class {empty + 1}: it has no name")
    twice = next((name for k, name in enumerate(names) if name in names[:k]), None)
    if twice is not None:
        raise InputError(f"{path} names the class {twice!r} twice")
    is_text = {column: not all(map(_is_number, cells)) for column, cells in columns.items()}
    text = {column: cells for column, cells in columns.items() if is_text[column]}
    return ClassWords(names, text, {c: v for c, v in columns.items() if not is_text[c]})


def given_words(classes: Mapping[str, str] | ClassTable) -> ClassWords:
    """`{name: description}`, or a table of numbers."""
    if isinstance(classes, ClassTable):
        table = classes
        columns = table.attributes or [f"column {k}" for k in range(table.vectors.shape[1])]
        cells = [[f"{float(v):.9g}" for v in column] for column in table.vectors.T]
        numbers = dict(zip(columns, cells, strict=True))
        return ClassWords([str(name) for name in table.names.tolist()], {}, numbers)
    odd = next((v for v in classes.values() if not isinstance(v, str)), None)
    if odd is not None:
        raise InputError(f"classes must be {{name: description}} of strings, not {odd!r}")
    return ClassWords([str(n) for n in classes], {"description": list(classes.values())}, {})


def silent(words: ClassWords) -> list[str]:
    """Classes of which no text says anything."""
    said = zip(*words.text.values(), strict=True)
    return [name for name, cells in zip(words.names, said, strict=False) if not any(cells)]


def _is_number(cell: str) -> bool:
    try:
        float(cell or "nan")
    except ValueError:
        return False
    return True


def check_described(words: ClassWords, labels: Iterable[str], where: object) -> None:
    """An error unless each class that has pictures has a line in the table."""
    missing = sorted(set(labels) - set(words.names))
    if missing:
        has = "has files" if len(missing) == 1 else "have files"
        raise InputError(
            f"{listed(missing)} {has} but no line in {where}{nearest(missing[0], words.names)}; "
            "names must be the same, letter by letter; a folder that is no class goes elsewhere"
        )


def check_templates(templates: Sequence[str], words: ClassWords) -> None:
    known = ["name", "description", *words.text]
    for template in templates:
        try:
            fields = [name for _, name, _, _ in Formatter().parse(template) if name is not None]
        except ValueError as error:
            raise InputError(f"the template {template!r} cannot be read: {error}") from error
        odd = next((name for name in fields if name not in known), None)
        if odd is not None or not fields:
            what = f"{{{odd}}}" if odd else "no place to fill in"
            hint = nearest(odd, known) if odd else ""
            raise InputError(
                f"the template {template!r} has {what}{hint}; it may have "
                f"{listed(known, len(known))} in braces"
            )


def as_table(words: ClassWords, encoder: Any, templates: Sequence[str]) -> tuple[list[str], Any]:
    """Columns and values of a class table whose text is encoded: the mean over the templates of
    vectors of length one, itself of length one, and the columns of numbers beside it."""
    templates = list(templates) or (["{description}"] if words.text else ["{name}"])
    total = sum(_unit(encoder.transform(words.prompts(template))) for template in templates)
    vectors = _unit(np.asarray(total))
    numbers = np.array(list(words.numbers.values()), dtype=np.float64).T
    columns = [f"text{k}" for k in range(vectors.shape[1])]
    if words.numbers:
        vectors = np.hstack([vectors, numbers])
    return [*columns, *words.numbers], vectors


def _unit(vectors: np.ndarray) -> np.ndarray:
    vectors = np.asarray(vectors, dtype=np.float64)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def prompt_table(
    classes: Mapping[str, str] | Iterable[str],
    encoder: Any,
    templates: Sequence[str] = ("a photo of a {name}",),
    offline: bool = False,
) -> ClassTable:
    """A class table of encoded prompts.

    classes : names of classes, or `{name: description}`.
    encoder : the name or the folder of a joint model such as CLIP, or of a sentence encoder.
    templates : sentences with {name} and {description} to fill in; their vectors are averaged.
    """
    text = {"description": list(classes.values())} if isinstance(classes, Mapping) else {}
    words = ClassWords([str(name) for name in classes], text, {})
    check_templates(templates, words)
    if isinstance(encoder, str | os.PathLike):
        encoder = text_encoder(os.fspath(encoder), offline)
    columns, vectors = as_table(words, encoder, templates)
    return ClassTable(words.names, vectors, columns)


def table_file(words: ClassWords, encoder: Any, templates: Sequence[str] = ()) -> str:
    """The class table as the content of a .csv file; without an encoder, text stays text."""
    if encoder is None:
        columns: list[str] = [*words.text, *words.numbers]
        cells: Any = zip(*words.text.values(), *words.numbers.values(), strict=True)
        if not columns:  # the name is all that is known
            columns, cells = ["text"], [[name.replace("_", " ")] for name in words.names]
    else:
        columns, values = as_table(words, encoder, templates)
        cells = ([f"{float(v):.7g}" for v in row] for row in values)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["name", *columns])
    writer.writerows([name, *row] for name, row in zip(words.names, cells, strict=True))
    return out.getvalue()


def text_encoder(name: str, offline: bool) -> Any:
    """The encoder of a name; None for TF-IDF, which reads text when a model is trained."""
    if name == TFIDF:
        return None
    from unseen.encoders.hub import on_this_machine
    from unseen.encoders.transformer import JointText, is_joint

    if (Path(name).is_dir() or on_this_machine(name)) and is_joint(name, offline):
        return JointText(name, offline)
    from unseen.encoders.text import TextEncoder

    return TextEncoder(name, offline=offline)
