"""Latent models made by hand: dictionaries, codes and a similarity of any size."""

from __future__ import annotations

from typing import Any

import numpy as np

from unseen.model.latent import LatentModel, Spaces
from unseen.rows.scaling import ClassScaling, RowScaling


def latent_model(
    n_classes: int = 6,
    n_rows: int = 40,
    d_s: int = 8,
    d_t: int = 9,
    h_s: int = 5,
    h_t: int = 4,
    seed: int = 0,
    **fields: Any,
) -> LatentModel:
    """A trained model, for all that test time can tell."""
    rng = np.random.default_rng(seed)
    made = {
        "spaces": Spaces(RowScaling(False, None), ClassScaling(False, None)),
        "Zs": rng.dirichlet(np.ones(h_s), n_classes),
        "Zt": rng.standard_normal((n_rows, h_t)),
        "B": rng.standard_normal((d_s, h_s)),
        "D": rng.standard_normal((d_t, h_t)) / 3,
        "W": 2 * rng.standard_normal((h_s, h_t)),
        "b": 0.2,
        "away_bias": 0.2,
        "source_shrink": 0.21,
        "source_fit": 0.7,
        "target_shrink": 0.42,
        "target_fit": 1.4,
    }
    return LatentModel(**made | fields)
