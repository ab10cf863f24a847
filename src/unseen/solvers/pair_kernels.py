"""Compiled search for both codes of a pair, in a form in which the target code never appears.

    min_{z_s, z_t}  p_B(z_s) + p_D(z_t) + ω loss(y (z_s'W z_t + b))

With β = y τ, τ >= 0 minus the slope of ω loss at the score, the target code answers
z_t = z_t0 + β H_t^-1 W'z_s, so a pair is its source code and one number. See pair_codes.py. The
pair loss is inside the loop, as ridge and cap of τ: each step of a pair needs it anew.
"""

from __future__ import annotations

import numpy as np

from unseen.solvers.compiled import helper, kernel
from unseen.solvers.simplex import project_vector, simplex_qp

FLATTEST = 1e-10
GRADIENT_STEPS = 300
GRADIENT_TOL = 1e-7
NEWTON_STEPS = 100
NEWTON_TOL = 1e-9


@helper
def _sparse_product(M, z, out):
    """M z for a symmetric M and a z of few entries."""
    out[:] = 0.0
    for k in range(z.shape[0]):
        if z[k] != 0.0:
            f, row = z[k], M[k]
            for l in range(z.shape[0]):
                out[l] += f * row[l]


@kernel
def best_simplex_pairs(fit, F, starts, chosen, b, V, squared, found):
    """The best codes of some pairs where source codes lie on the simplex: a local maximum.

        min_z  f(z) = z'Hz/2 - r_i'z + τ m - τ² (k + ridge) / 2,   m = 1 - y (z'f_j + b),
        k = z'Kz,   τ = clip(m / (k + ridge), 0, cap), the best multiplier of the target code

    Projected gradients with steps by the curvature last met find the face; Newton steps in the
    score, with the pull W z_t of the present target code, finish on it. f falls at each step.

    fit: H (h x h), K = W H_t^-1 W', R (C x h), p_B = z'Hz/2 - r_i'z, and the size of the entries of
    H and R. F: N x h (W z_t0). chosen: n x 3, row j, class i and which of the starts (u x C x h).
    V: N x C, y ω. found, N x C each: beta, scores s, p_B, and by how much p_D rises; then codes (N
    x C x h, or empty).
    """
    H, K, R, size = fit
    beta, s, source, target, codes = found
    h = H.shape[0]
    work = np.zeros((10 + h, h))
    z, Hz, Kz, g = work[0], work[1], work[2], work[3]
    d, Hd, Kd, v = work[4], work[5], work[6], work[7]
    x, pull, curved = work[8:9], work[9:10], work[10:]
    for p in range(chosen.shape[0]):
        j, i = chosen[p, 0], chosen[p, 1]
        r, f, first, weight = R[i], F[j], starts[chosen[p, 2], i], abs(V[j, i])
        y = np.sign(V[j, i])
        ridge, cap = (0.5 / weight, np.inf) if squared and weight > 0.0 else (0.0, weight)
        for l in range(h):
            z[l] = first[l]
        _sparse_product(H, z, Hz)
        _sparse_product(K, z, Kz)
        quad, s0, k, length = 0.0, 0.0, 0.0, 0.0
        for l in range(h):
            quad += z[l] * (0.5 * Hz[l] - r[l])
            s0 += z[l] * f[l]
            k += z[l] * Kz[l]
        step, t, is_newton, n_left = 1.0 / size, 0.0, False, GRADIENT_STEPS
        while True:
            m, curvature = 1.0 - y * (s0 + b), 1.0 / max(k + ridge, FLATTEST)
            tau = min(max(m * curvature, 0.0), cap)
            bend = 0.0
            for l in range(h):
                v[l] = f[l] + y * tau * Kz[l]
                slope = Hz[l] - r[l] - y * tau * v[l]
                bend += d[l] * (slope - g[l])
                g[l] = slope
            if n_left == 0 and is_newton:
                break
            if n_left == 0:
                is_newton, n_left = True, NEWTON_STEPS
                continue
            n_left -= 1
            rise = tau * m - 0.5 * tau * tau * (k + ridge)
            small = GRADIENT_TOL * (abs(quad) + rise)
            if is_newton:
                small = NEWTON_TOL * (abs(quad) + rise + weight)
                # A QP within the bounds of tau, then one at the bound it went beyond.
                at, bent, full = 0.0, curvature, m * curvature
                for l in range(h):
                    x[0, l] = z[l]
                    at += y * v[l] * z[l]
                for _ in range(2):
                    for l in range(h):
                        pull[0, l] = r[l] + y * (full + bent * at) * v[l]
                        c, row, line = bent * v[l], H[l], curved[l]
                        for q in range(h):
                            line[q] = row[q] + c * v[q]
                    simplex_qp(curved, pull, x, 1e-11 * size, 20 * h + 100)
                    now = 0.0
                    for l in range(h):
                        now += y * v[l] * x[0, l]
                    full -= bent * (now - at)
                    if 0.0 <= full <= cap:
                        break
                    bent, full = 0.0, min(max(full, 0.0), cap)
            else:
                if t > 0.0:
                    step = min(t * length / bend, 1e6 * step) if bend > 0.0 else 2.0 * step
                for l in range(h):
                    v[l] = z[l] - step * g[l]
                project_vector(v, x[0])
            slope, length = 0.0, 0.0
            for l in range(h):
                d[l] = x[0, l] - z[l]
                slope += g[l] * d[l]
                length += d[l] * d[l]
            t = 1.0 if -slope > small else 0.0
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
            while t > 0.0:
                k_t, m_t = k + t * k1 + t * t * k2, m - t * y * f1
                tau = min(max(m_t / max(k_t + ridge, FLATTEST), 0.0), cap)
                change = t * q1 + 0.5 * t * t * q2 + tau * m_t - 0.5 * tau * tau * (k_t + ridge)
                if change - rise <= 1e-4 * t * slope:
                    break
                t = 0.5 * t if t > 1e-6 else 0.0
            if t == 0.0:
                n_left = 0
                continue
            for l in range(h):
                z[l] = x[0, l] if t == 1.0 else z[l] + t * d[l]
                Hz[l] += t * Hd[l]
                Kz[l] += t * Kd[l]
            quad, s0, k = quad + t * q1 + 0.5 * t * t * q2, s0 + t * f1, k + t * k1 + t * t * k2
        beta[j, i], s[j, i] = y * tau, s0 + y * tau * k + b
        source[j, i], target[j, i] = quad, 0.5 * tau * tau * k
        if codes.size > 0:
            for l in range(h):
                codes[j, i, l] = z[l]
