"""The Gaussian model step by step, every matrix formed, one direction and one class at a time."""

from __future__ import annotations

import numpy as np


class Oracle:
    """Parameters as in `GaussianMatch`; rows X and descriptions S as they are to be used."""

    def __init__(
        self,
        X: np.ndarray,
        y: np.ndarray,
        S: np.ndarray,
        shrinkage: float,
        misfit: float,
        width: float,
        n_directions: int,
    ) -> None:
        classes = range(len(S))
        means = np.array([X[y == c].mean(axis=0) for c in classes])
        within = sum((X[y == c] - means[c]).T @ (X[y == c] - means[c]) for c in classes)
        within = within / (len(X) - len(S))
        level = np.trace(within) / n_directions
        sigma = (1 - shrinkage) * within + shrinkage * level * np.eye(X.shape[1])
        values, vectors = np.linalg.eigh(sigma)
        whiten = vectors / np.sqrt(values)
        centre = means.mean(axis=0)
        white = (means - centre) @ whiten
        _, sizes, rotation = np.linalg.svd(white, full_matrices=False)
        rotation = rotation[sizes > 1e-5 * sizes[0]]
        self.A, self.centre = whiten @ rotation.T, centre
        self.T = white @ rotation.T
        noise = np.mean([1 / np.sum(y == c) for c in classes])
        size = np.mean(self.T**2, axis=0)
        self.beta = np.maximum(size - noise, 1e-3 * size)
        self.noise, self.misfit, self.S = noise / self.beta + misfit, misfit, S
        distances = [np.sum((a - b) ** 2) for k, a in enumerate(S) for b in S[:k]]
        self.width = 2 * width**2 * np.median(distances)

    def codes(self, X: np.ndarray) -> np.ndarray:
        return (X - self.centre) @ self.A

    def kernel(self, s: np.ndarray) -> np.ndarray:
        return np.array([np.exp(-np.sum((s - other) ** 2) / self.width) for other in self.S])

    def predict(self, s: np.ndarray, without: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of the Gaussian process, one system per direction."""
        use = np.array([c for c in range(len(self.S)) if c != without])
        K = np.array([self.kernel(t) for t in self.S])[np.ix_(use, use)]
        k = self.kernel(s)[use]
        mean, v = np.empty(self.beta.size), np.empty(self.beta.size)
        for d in range(self.beta.size):
            inverse = np.linalg.inv(K + self.noise[d] * np.eye(len(use)))
            mean[d] = k @ inverse @ self.T[use, d]
            v[d] = self.beta[d] * (1 + self.misfit - k @ inverse @ k)
        return mean, v

    def stretched(self, mean: np.ndarray, stretch: float) -> np.ndarray:
        length = np.sqrt(np.mean(np.sum(self.T**2, axis=1)))
        return mean * (length / np.linalg.norm(mean)) ** stretch
