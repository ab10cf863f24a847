"""Compiled search for both codes of a pair, in a form in which the target code never appears.

    min_{z_s, z_t}  p_B(z_s) + p_D(z_t) + omega loss(y (z_s'W z_t + b))

With beta = y tau, tau >= 0 minus the slope of omega loss at the score, the target code answers
z_t = z_t0 + beta H_t^-1 W'z_s, so a pair is its source code and one number. See pair_codes.py.
"""

from __future__ import annotations

import numpy as np

from unseen.solvers.compiled import helper, kernel
from unseen.solvers.source_kernels import simplex_qp

NEAR_POLE = 1 - 1e-9
MOST_STEPS = 100
FLATTEST = 1e-10
GRADIENT_STEPS = 300
GRADIENT_TOL = 1e-7


@helper
def _score(A, c, sigma_sq, beta):
    """sum_k (A + beta sigma^2 c)(c + beta A) / (1 - beta^2 sigma^2)^2 and its derivative."""
    s, slope = 0.0, 0.0
    for k in range(A.shape[0]):
        v = sigma_sq[k]
        inverse = 1.0 / (1.0 - beta * beta * v)
        left, right = (A[k] + beta * v * c[k]) * inverse, (c[k] + beta * A[k]) * inverse
        s += left * right
        slope += (v * c[k] * right + A[k] * left + 4.0 * beta * v * left * right) * inverse
    return s, slope


@helper
def _root(A, c, sigma_sq, y, b, omega, squared):
    """The tau at which tau is minus the slope of omega loss at the score it leads to.

    y s(y tau) rises on [0, 1/sigma_1), to infinity but where the data has no share in the top
    direction; then the pole is the answer, and what is missing of the score is returned too.
    """
    s, slope = _score(A, c, sigma_sq, 0.0)
    gap = y * (s + b) - 1.0
    if gap >= 0.0 or omega <= 0.0:
        return 0.0, 0.0
    ridge, cap = (0.5 / omega, np.inf) if squared else (0.0, omega)
    top = np.sqrt(sigma_sq[0]) if sigma_sq.size else 0.0
    pole = NEAR_POLE / top if top > 0.0 else np.inf
    low, high, tau, is_known = 0.0, min(cap, pole), 0.0, False
    if ridge > 0.0:
        high = min(high, -gap / ridge)
        is_known = high < pole
    last = -gap
    for _ in range(MOST_STEPS):
        rise = ridge + slope
        step = tau - gap / rise if rise > 0.0 else np.inf
        if step >= high and not is_known:
            step, is_known = high, True
        elif not low < step < high or abs(gap) > 0.5 * last:
            step = 0.5 * (low + high)
        last = abs(gap)
        if abs(step - tau) <= 1e-15 * step:
            break
        tau = step
        s, slope = _score(A, c, sigma_sq, y * tau)
        gap = ridge * tau + y * (s + b) - 1.0
        if gap <= 0.0 and tau >= high:
            return tau, (-gap if tau >= pole else 0.0)
        if gap < 0.0:
            low = tau
        else:
            high, is_known = tau, True
        if abs(gap) <= 1e-13 * (1.0 + ridge * tau):
            break
    return tau, 0.0


@helper
def _aside(a, c, sigma, q, y, missing):
    """t such that (a + t, c + y t) in the top direction lifts y s by `missing`."""
    m = sigma * (a + y * c) + q
    root = np.sqrt(m * m + 4.0 * sigma * missing)
    return 2.0 * missing / (m + root if m >= 0.0 else m - root)


@kernel
def best_linear_pairs(A, shift, X, sigma, q, b, Y, omega, squared, beta, s, rise_s, rise_t, moves):
    """The best codes of all pairs where source codes are free or sum to one: a global maximum.

    In the coordinates that make W diagonal, s = sum_k (sigma_k a_k + q_k) c_k + b, p_B and p_D are
    |a - a_i|^2/2 and |c - c_j|^2/2 above their minima, and the best pair with multiplier beta is

        c = (c_j + beta A_i) / (1 - beta^2 sigma^2),   a = a_i + beta sigma c,   A_i = sigma a_i + q

    A, shift: C x n (A_i, a_i), X: N x n (c_j), Y, omega: N x C signs, 0 for unknown, and weights.
    Out, N x C each: beta, scores s, and by how much p_B and p_D rise; moves (N x C x n, or empty):
    a - a_i.
    """
    n = sigma.shape[0]
    work = np.empty((3, n))
    sigma_sq, codes, steps = work[0], work[1], work[2]
    for k in range(n):
        sigma_sq[k] = sigma[k] * sigma[k]
    for j in range(X.shape[0]):
        c = X[j]
        for i in range(A.shape[0]):
            y, at = Y[j, i], A[i]
            tau, missing = _root(at, c, sigma_sq, y, b, omega[j, i] if y != 0.0 else 0.0, squared)
            t = y * tau
            for k in range(n):
                codes[k] = (c[k] + t * at[k]) / (1.0 - t * t * sigma_sq[k])
                steps[k] = t * sigma[k] * codes[k]
            if missing > 0.0:
                f = _aside(shift[i, 0] + steps[0], codes[0], sigma[0], q[0], y, missing)
                codes[0] += y * f
                steps[0] += f
            total, source, target = b, 0.0, 0.0
            for k in range(n):
                total += (at[k] + sigma[k] * steps[k]) * codes[k]
                source += 0.5 * steps[k] * steps[k]
                target += 0.5 * (codes[k] - c[k]) * (codes[k] - c[k])
            beta[j, i], s[j, i], rise_s[j, i], rise_t[j, i] = t, total, source, target
            if moves.size > 0:
                for k in range(n):
                    moves[j, i, k] = steps[k]


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
def _project(v, out):
    """The point of the simplex nearest to v: the threshold rises until what is above it sums to
    one (Michelot).
    """
    h = v.shape[0]
    threshold, count = -np.inf, 0
    while True:
        total, above = 0.0, 0
        for k in range(h):
            if v[k] > threshold:
                total += v[k]
                above += 1
        if above == count:
            break
        threshold, count = (total - 1.0) / above, above
    for k in range(h):
        out[k] = max(v[k] - threshold, 0.0)


@kernel
def best_simplex_pairs(
    H, K, R, F, starts, pairs, b, Y, omega, squared, size, tol, max_rounds,
    beta, s, source, target, codes,
):  # fmt: skip
    """The best codes of some pairs where source codes lie on the simplex: a local maximum.

        min_z  f(z) = z'Hz/2 - r_i'z + tau m - tau^2 (k + ridge) / 2,   m = 1 - y (z'f_j + b),
        k = z'Kz,   tau = clip(m / (k + ridge), 0, cap), the best multiplier of the target code

    Projected gradients with steps by the curvature last met find the face; Newton steps in the
    score, with the pull W z_t of the present target code, finish on it. f falls at each step.

    pairs: n x 3, row j, class i and which of the starts (u x C x h). H: h x h and R: C x h, p_B =
    z'Hz/2 - r_i'z; K = W H_t^-1 W'; F: N x h (W z_t0); Y, omega: N x C signs and weights; size: of
    the entries of H and R. Out, N x C each: beta, scores s, p_B, and by how much p_D rises; codes
    (N x C x h, or empty).
    """
    h = H.shape[0]
    work = np.zeros((10 + h, h))
    z, Hz, Kz, g = work[0], work[1], work[2], work[3]
    d, Hd, Kd, v = work[4], work[5], work[6], work[7]
    x, pull, curved = work[8:9], work[9:10], work[10:]
    for p in range(pairs.shape[0]):
        j, i = pairs[p, 0], pairs[p, 1]
        r, f, first, y = R[i], F[j], starts[pairs[p, 2], i], Y[j, i]
        weight = omega[j, i] if y != 0.0 else 0.0
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
                is_newton, n_left = True, max_rounds
                continue
            n_left -= 1
            rise = tau * m - 0.5 * tau * tau * (k + ridge)
            small = GRADIENT_TOL * (abs(quad) + rise)
            if is_newton:
                small = tol * (abs(quad) + rise + weight)
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
                _project(v, x[0])
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
