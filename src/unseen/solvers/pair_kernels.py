"""Compiled search for both codes of a pair, in a form in which the target code never appears.

    min_{z_s, z_t}  p_B(z_s) + p_D(z_t) + ω loss(y (z_s'W z_t + b))

With β = y τ, τ >= 0 minus the slope of ω loss at the score, the target code answers
z_t = z_t0 + β H_t^-1 W'z_s, so a pair is its source code and one number. See pair_codes.py. The
pair loss is inside the loop, as ridge and cap of τ: each step of a pair needs it anew.

A face of the simplex is the matrix P (h x h), the inverse of H on the directions along it: zero
outside the face, with rows that sum to zero. One coordinate more or less is one product of vectors.
"""

from __future__ import annotations

import numpy as np

from unseen.solvers.compiled import helper, kernel

FLATTEST = 1e-10
TOL = 1e-9
ROUNDING = 1e-14


def face_inverse(H: np.ndarray, z: np.ndarray) -> np.ndarray:
    """P of the face on which z lies: (H_FF)^-1 without its part across the sum of the entries."""
    face = np.flatnonzero(z > 0)
    inverse = np.linalg.inv(H[np.ix_(face, face)])
    column = inverse.sum(axis=1)
    P = np.zeros_like(H)
    P[np.ix_(face, face)] = inverse - np.outer(column, column) / column.sum()
    return P


@helper
def _sparse_product(M, z, out):
    """M z for a symmetric M and a z of few entries."""
    out[:] = 0.0
    for k in range(z.shape[0]):
        if z[k] != 0.0:
            f, row = z[k], M[k]
            for l in range(z.shape[0]):
                out[l] += f * row[l]


@helper
def _add_outer(P, f, u):
    """P += f u u'."""
    for k in range(u.shape[0]):
        if u[k] != 0.0:
            c, row = f * u[k], P[k]
            for l in range(u.shape[0]):
                row[l] += c * u[l]


@helper
def _leave(P, k, u):
    """Take coordinate k out of the face."""
    u[:] = P[k]
    _add_outer(P, -1.0 / u[k], u)
    P[k, :] = 0.0
    P[:, k] = 0.0


@helper
def _enter(P, H, k, j, u, line):
    """Take coordinate k into the face of j: u is the direction from j to k that H makes orthogonal
    to those along the face.
    """
    for l in range(u.shape[0]):
        line[l] = H[k, l] - H[j, l]
    curvature, top = 0.0, H[k, k] + H[j, j]
    for q in range(u.shape[0]):
        u[q] = 0.0
        for l in range(u.shape[0]):
            u[q] -= P[q, l] * line[l]
    u[k] += 1.0
    u[j] -= 1.0
    for l in range(u.shape[0]):
        curvature += u[l] * line[l]
    _add_outer(P, 1.0 / max(curvature, 1e-15 * top), u)


@kernel
def descend_pairs(fit, F, start, face, rows, i, b, V, squared, found):
    """The best codes of some rows with class i where source codes lie on the simplex: a local
    minimum, downhill from the start.

        min_z  f(z) = z'Hz/2 - r_i'z + τ m - τ² (k + ridge) / 2,   m = 1 - y (z'f_j + b),
        k = z'Kz,   τ = clip(m / (k + ridge), 0, cap), the best multiplier of the target code

    A step on the face goes to where f with the pull v = W z_t of the present target code has its
    minimum, d = y τ' P v - P (Hz - r) with the τ' that holds there, or as far as the face goes, or
    until f falls. Coordinates that become zero leave the face; at its minimum the one with the
    steepest slope enters it.

    fit: H (h x h), K = W H_t^-1 W', r_i and R's and H's size, p_B = z'Hz/2 - r_i'z. F: N x h
    (W z_t0). start: h, on the face that `face` is P of. V: N x C, y ω. found, N x C each: beta,
    scores s, p_B, and by how much p_D rises; then codes (N x C x h, or empty).
    """
    H, K, r, size = fit
    beta, s, source, target, codes = found
    h = H.shape[0]
    work, P = np.zeros((11, h)), np.empty((h, h))
    z, Hz, Kz, d, Hd, Kd = work[0], work[1], work[2], work[3], work[4], work[5]
    g, v, fitted, pulled, u = work[6], work[7], work[8], work[9], work[10]
    for j in rows:
        f, weight, y = F[j], abs(V[j, i]), np.sign(V[j, i])
        ridge, cap = (0.5 / weight, np.inf) if squared and weight > 0.0 else (0.0, weight)
        P[:] = face
        z[:] = start
        _sparse_product(H, z, Hz)
        _sparse_product(K, z, Kz)
        quad, s0, k = 0.0, 0.0, 0.0
        for l in range(h):
            quad += z[l] * (0.5 * Hz[l] - r[l])
            s0 += z[l] * f[l]
            k += z[l] * Kz[l]
        for _ in range(20 * h + 100):
            m = 1.0 - y * (s0 + b)
            tau = min(max(m / max(k + ridge, FLATTEST), 0.0), cap)
            rise = tau * m - 0.5 * tau * tau * (k + ridge)
            for l in range(h):
                g[l] = Hz[l] - r[l]
                v[l] = f[l] + y * tau * Kz[l]
            # Across the face from the present point to the minimum, for pull and fit each.
            at, bend = 0.0, 0.0
            for q in range(h):
                row, to_fit, to_pull = P[q], 0.0, 0.0
                if row[q] > 0.0:
                    for l in range(h):
                        to_fit += row[l] * g[l]
                        to_pull += row[l] * v[l]
                fitted[q], pulled[q] = to_fit, to_pull
                at += v[q] * to_fit
                bend += v[q] * to_pull
            there = min(max((m + y * at) / max(k + ridge + bend, FLATTEST), 0.0), cap)
            level, lowest, entering, largest = 0.0, np.inf, 0, 0
            for l in range(h):
                g[l] -= y * tau * v[l]
                level += g[l] * z[l]
                if g[l] < lowest:
                    lowest, entering = g[l], l
                if z[l] > z[largest]:
                    largest = l
            slope = 0.0
            for l in range(h):
                d[l] = y * there * pulled[l] - fitted[l]
                slope += g[l] * d[l]
            if slope > 0.0:
                slope = 0.0
                for l in range(h):
                    d[l] = y * tau * pulled[l] - fitted[l]
                    slope += g[l] * d[l]
            small = TOL * (rise + weight) + ROUNDING * size
            if -slope <= small:
                if level - lowest <= small or P[entering, entering] > 0.0:
                    break
                _enter(P, H, entering, largest, u, d)
                continue
            t, leaving = 1.0, -1
            for l in range(h):
                if d[l] < 0.0 and z[l] + t * d[l] <= 0.0:
                    t, leaving = -z[l] / d[l], l
            if t > 0.0:
                _sparse_product(H, d, Hd)
                _sparse_product(K, d, Kd)
            q1, q2, f1, k1, k2 = 0.0, 0.0, 0.0, 0.0, 0.0
            for l in range(h):
                q1 += d[l] * (Hz[l] - r[l])
                q2 += d[l] * Hd[l]
                f1 += d[l] * f[l]
                k1 += 2.0 * d[l] * Kz[l]
                k2 += d[l] * Kd[l]
            last = t
            while t > 0.0:
                k_t, m_t = k + t * k1 + t * t * k2, m - t * y * f1
                tau = min(max(m_t / max(k_t + ridge, FLATTEST), 0.0), cap)
                change = t * q1 + 0.5 * t * t * q2 + tau * m_t - 0.5 * tau * tau * (k_t + ridge)
                if change - rise <= 1e-4 * t * slope:
                    break
                t = 0.5 * t if t > 1e-6 else 0.0
            if t == 0.0 and last > 0.0:
                break
            for l in range(h):
                z[l] = max(z[l] + t * d[l], 0.0)
                Hz[l] += t * Hd[l]
                Kz[l] += t * Kd[l]
            quad, s0, k = quad + t * q1 + 0.5 * t * t * q2, s0 + t * f1, k + t * k1 + t * t * k2
            if t == last and leaving >= 0:
                z[leaving] = 0.0
                _leave(P, leaving, u)
        m = 1.0 - y * (s0 + b)
        tau = min(max(m / max(k + ridge, FLATTEST), 0.0), cap)
        beta[j, i], s[j, i] = y * tau, s0 + y * tau * k + b
        source[j, i], target[j, i] = quad, 0.5 * tau * tau * k
        if codes.size > 0:
            for l in range(h):
                codes[j, i, l] = z[l]
