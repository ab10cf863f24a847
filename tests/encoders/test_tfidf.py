"""TF-IDF against the formula written out word by word, and its directions against a full SVD."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unseen import InputError
from unseen.encoders.tfidf import MOST_COLUMNS, Tfidf, learn_tfidf

TEXTS = [
    "A striped horse; hooves, hooves!",
    "A striped cat with claws",
    "A horse with horns",
    "A crème-coloured cat with hooves and 2 horns",
]


def by_hand(learned_from: list[str], text: str) -> dict[str, float]:
    """The words of a text and what they count, by the formula of the module."""
    plain = str.maketrans("éèêëàâôûç", "eeeeaaouc")

    def words(text: str) -> list[str]:
        found = re.split(r"[^a-z0-9]+", text.lower().translate(plain))
        return [word for word in found if len(word) > 1 or word.isdigit()]

    n = len(learned_from)
    spread = {w: sum(w in words(t) for t in learned_from) for t in learned_from for w in words(t)}
    kept = {w: k for w, k in spread.items() if k < n and w not in ("with", "and")}
    counts = {w: words(text).count(w) for w in words(text) if w in kept}
    sizes = {
        w: (1 + math.log(k)) * (1 + math.log((1 + n) / (1 + kept[w]))) for w, k in counts.items()
    }
    length = math.sqrt(sum(size**2 for size in sizes.values()))
    return {w: size / length for w, size in sizes.items()}


@pytest.mark.parametrize("text", [*TEXTS, "HORNS and Horns, but no cat"])
def test_a_text_counts_as_the_formula_says(text: str) -> None:
    learned = learn_tfidf(TEXTS)
    vector = learned([text])[0]
    found = {w: v for w, v in zip(learned.words.tolist(), vector, strict=True) if v}
    expected = by_hand(TEXTS, text)
    assert found.keys() == expected.keys()
    assert all(abs(found[w] - expected[w]) < 1e-6 for w in expected)
    assert vector.dtype == np.float32


def test_a_word_of_all_texts_is_left_out_and_one_of_a_single_text_stays() -> None:
    words = learn_tfidf([f"{text}; an animal" for text in TEXTS]).words.tolist()
    assert not {"animal", "with"} & {*words}
    assert "claws" in words


def long_texts(n: int = 40, n_words: int = 1_500) -> list[str]:
    """So many words that the words themselves are too many columns."""
    rng = np.random.default_rng(0)
    words = [chr(97 + k // 676) + chr(97 + k // 26 % 26) + chr(97 + k % 26) for k in range(n_words)]
    return [" ".join(rng.choice(words, 400)) for _ in range(n)]


def test_directions_lose_nothing_of_the_texts_they_were_learned_from() -> None:
    texts = long_texts()
    learned = learn_tfidf(texts)
    assert learned.directions is not None
    assert learned.words.size > MOST_COLUMNS
    assert learned.width == len(texts)
    whole, short = Tfidf(learned.words, learned.weights)(texts), learned(texts)
    np.testing.assert_allclose(short @ short.T, whole @ whole.T, atol=1e-5)
    np.testing.assert_allclose(learned.directions @ learned.directions.T, np.eye(40), atol=1e-5)
    _, _, V = np.linalg.svd(whole, full_matrices=False)
    np.testing.assert_allclose(np.abs(learned.directions[:3] @ V[:3].T), np.eye(3), atol=1e-3)


def test_learning_twice_is_the_same_to_the_last_bit() -> None:
    texts = long_texts()
    one, two = learn_tfidf(texts, 7), learn_tfidf(texts, 7)
    assert one.directions is not None
    assert two.directions is not None
    assert one.directions.tobytes() == two.directions.tobytes()
    assert (one.directions.max(axis=1) >= -one.directions.min(axis=1)).all()


def test_more_texts_than_have_an_exact_svd(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = learn_tfidf(long_texts(), 5)
    monkeypatch.setattr("unseen.encoders.tfidf._EXACT", 10)
    found = learn_tfidf(long_texts(), 5)
    assert exact.directions is not None
    assert found.directions is not None
    np.testing.assert_allclose(found.directions, exact.directions, atol=1e-4)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["!", "?"], "no words that describe"),
        (["the same", "the same"], "all hold the same words"),
        (["alone"], "there is one text alone"),
    ],
)
def test_texts_that_say_nothing(texts: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        learn_tfidf(texts)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=40), min_size=1, max_size=6), st.text(max_size=40))
def test_any_text_is_a_row_of_length_one_or_zeros_or_a_clear_error(
    texts: list[str], other: str
) -> None:
    try:
        learned = learn_tfidf(texts)
    except InputError:
        return
    learned.check()
    lengths = np.linalg.norm(learned([*texts, other]), axis=1)
    assert np.logical_or(np.abs(lengths - 1) < 1e-5, lengths == 0).all()


def test_parts_that_do_not_fit_are_told() -> None:
    good = learn_tfidf(TEXTS)
    n = good.words.size
    for bad, message in (
        (Tfidf(good.words[::-1], good.weights), "sorted"),
        (Tfidf(np.repeat(good.words[:1], n), good.weights), "sorted"),
        (Tfidf(good.words[:0], good.weights[:0]), "sorted"),
        (Tfidf(np.arange(n), good.weights), "sorted"),
        (Tfidf(good.words, good.weights[1:]), "weights"),
        (Tfidf(good.words, -good.weights), "positive"),
        (Tfidf(good.words, good.weights, np.ones((2, n + 1))), "directions"),
        (Tfidf(good.words, good.weights, np.ones((0, n))), "directions"),
    ):
        with pytest.raises(InputError, match=message):
            bad.check()
