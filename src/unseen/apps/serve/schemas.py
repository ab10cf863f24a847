"""What requests and answers hold; the descriptions in /openapi.json are made of these."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError, model_validator

from unseen.apps.serve.settings import Limits
from unseen.errors import InputError

_MOST = Limits()
Name = str | int | FiniteFloat
Vector = Annotated[list[FiniteFloat], Field(min_length=1, max_length=100_000)]
Rows = Annotated[list[Vector], Field(min_length=1, max_length=_MOST.rows)]
RowNumber = Annotated[int, Field(ge=0, le=2**53)]
RowNumbers = Annotated[list[RowNumber], Field(min_length=1, max_length=_MOST.rows)]
Group = Literal["all", "seen", "unseen"]
Names = Annotated[list[Name], Field(min_length=1, max_length=100_000)]
K = Annotated[int, Field(ge=1, le=_MOST.k)]
Floats = Literal["FP16", "FP32", "FP64"]
Integers = Literal["INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64"]
NewClasses = Annotated[
    dict[str, Vector],
    Field(max_length=64, description="Classes that the model does not know: name and description."),
]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class PredictBody(_Body):
    """Rows to name: numbers, or numbers of rows of the gallery; one of the two."""

    rows: Rows | None = None
    gallery: RowNumbers | None = None
    k: K | None = Field(None, description="Candidates to name per row; 5, or all if fewer.")
    candidates: Group | Names | None = Field(None, description="The unseen classes by default.")
    classes: NewClasses | None = None

    @model_validator(mode="after")
    def _one(self) -> PredictBody:
        return one_of(self, "rows", "gallery")


class RankBody(_Body):
    """What to look for in the gallery: a class, its description, or a sentence; one of these.

    `attributes` are values by name; attributes that are not named are those of `start`, or zero.
    """

    name: Name | None = None
    vector: Vector | None = None
    attributes: Annotated[dict[str, FiniteFloat], Field(max_length=100_000)] | None = None
    sentence: Annotated[str, Field(min_length=1, max_length=10_000)] | None = None
    start: Name | None = Field(None, description="A class whose description `attributes` change.")
    k: K | None = Field(None, description="Rows to return; 24, or all if fewer.")
    against: Group | Names | None = Field(None, description="Classes that compete for the rows.")
    rivals: Annotated[int, Field(ge=0, le=50)] = Field(
        0, description="How many classes to name that would have the rows returned."
    )
    classes: NewClasses | None = None

    @model_validator(mode="after")
    def _one(self) -> RankBody:
        if self.start is not None and self.attributes is None:
            raise ValueError("'start' goes with 'attributes'")
        return one_of(self, "name", "vector", "attributes", "sentence")


class ExplainBody(_Body):
    """A row, or the number of one of the gallery, and a class; by default the one predicted."""

    row: Vector | None = None
    gallery: RowNumber | None = None
    name: Name | None = None
    top: Annotated[int, Field(ge=1, le=50)] = 5
    classes: NewClasses | None = None

    @model_validator(mode="after")
    def _one(self) -> ExplainBody:
        return one_of(self, "row", "gallery")


class PairsBody(_Body):
    """Source vectors (descriptions) and target vectors (rows); every pair is scored."""

    sources: Rows
    targets: Rows
    threshold: FiniteFloat | None = Field(None, description="θ of Eq. 1; else the model's own.")


class Tensor(_Body):
    """An input of the Open Inference Protocol."""

    name: str
    shape: Annotated[list[Annotated[int, Field(ge=1, le=100_000)]], Field(max_length=2)]
    datatype: Literal[Floats, Integers]
    data: Annotated[list[FiniteFloat | Vector], Field(min_length=1)]
    parameters: dict[str, Any] | None = None


class InferParameters(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)
    k: K | None = None
    candidates: Group | None = None


class InferBody(BaseModel):
    """A request of the Open Inference Protocol; its one input is `rows`."""

    model_config = ConfigDict(extra="ignore", strict=True)
    id: str | None = None
    inputs: Annotated[list[Tensor], Field(min_length=1, max_length=1)]
    parameters: InferParameters | None = None
    outputs: list[dict[str, Any]] | None = None


# -- answers -----------------------------------------------------------------------------------


class Error(BaseModel):
    error: str


class Predicted(BaseModel):
    """The best candidates of each row, best first; probabilities where the model has them."""

    names: list[list[Name]]
    scores: list[list[FiniteFloat]]
    probabilities: list[list[FiniteFloat]] | None
    labels: list[Name] | None
    pictures: list[bool] | None = Field(description="Which rows of the gallery have a thumbnail.")


class PicturesPredicted(Predicted):
    """The best candidates of each picture, and the rows that its encoder made of them."""

    rows: list[list[FiniteFloat]]


class Rival(BaseModel):
    """A class that would have some of the rows returned, and how many."""

    name: Name
    seen: bool
    rows: int


class Ranked(BaseModel):
    """The rows of the gallery that fit best, best first; labels where they are known."""

    rows: list[int]
    scores: list[FiniteFloat]
    labels: list[Name] | None
    pictures: list[bool] | None
    rivals: list[Rival]
    vector: list[FiniteFloat] | None = Field(description="What a sentence was encoded as.")


class Explained(BaseModel):
    """Why: the score taken apart, as tables of title, columns and lines."""

    name: Name
    score: FiniteFloat
    tables: list[dict[str, Any]]
    reasons: dict[str, Any]


class Paired(BaseModel):
    """Of every target (line) with every source (column)."""

    scores: list[list[FiniteFloat]]
    matches: list[list[bool]]
    probabilities: list[list[FiniteFloat]] | None


class Inferred(BaseModel):
    model_name: str
    id: str | None = None
    outputs: list[dict[str, Any]]


# -- reading them ------------------------------------------------------------------------------

Body = TypeVar("Body", bound=BaseModel)


def one_of(body: Any, *names: str) -> Any:
    given = [name for name in names if getattr(body, name) is not None]
    if len(given) != 1:
        raise ValueError("give exactly one of " + ", ".join(map(repr, names)))
    return body


def read_json(kind: type[Body], content: bytes) -> Body:
    """A request from its JSON, or an error of one sentence that says where it is wrong."""
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        raise InputError(_sentence(error)) from None


# How pydantic names an alternative of a union, which no sender knows.
_ALTERNATIVE = re.compile(r"constrained|(list|literal)\[|(str|int|float)$")
# What is wrong, by the kinds of error that pydantic tells apart.
_WRONG = {
    "less_than_equal": "must be at most {le:,}",
    "greater_than_equal": "must be at least {ge:,}",
    "too_long": "may hold at most {max_length:,}",
    "too_short": "must not be empty",
    "string_too_long": "may have at most {max_length:,} letters",
    "string_too_short": "must not be empty",
    "extra_forbidden": "is not known here",
    "missing": "is missing",
    "finite_number": "must be finite",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "string_type": "must be text",
    "list_type": "must be a list",
    "dict_type": "must be an object of names and values",
    "model_type": "must be an object of names and values",
    "literal_error": "must be {expected}",
    "json_invalid": "is no JSON: {error}",
}


def _sentence(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_input=False)
    # Of the alternatives of a union the one that came furthest says most.
    first = max(problems, key=lambda p: (len(p["loc"]), p["type"] in ("too_short", "too_long")))
    where = ".".join(part for part in map(str, first["loc"]) if not _ALTERNATIVE.match(part))
    wrong = _WRONG.get(first["type"])
    if wrong is not None:
        words = f"{where or 'it'} {wrong.format(**first.get('ctx', {}))}"
    else:
        words = (where and f"{where}: ") + first["msg"].removeprefix("Value error, ")
    more = "" if len(problems) == 1 else f" (and {len(problems) - 1} more)"
    return f"the request cannot be used: {words}{more}"[:500]
