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
def _bend(omega, squared):
    """(ridge, cap): tau = min((1 - y s) / ridge, cap) is minus the slope of omega loss."""
    if squared:
        return 0.5 / omega, np.inf
    return 0.0, omega


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
    ridge, cap = _bend(omega, squared)
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
    sigma_sq = sigma * sigma
    for j in range(X.shape[0]):
        c = X[j]
        for i in range(A.shape[0]):
            y = Y[j, i]
            weight = omega[j, i] if y != 0 else 0.0
            tau, missing = _root(A[i], c, sigma_sq, y, b, weight, squared)
            t, f = y * tau, 0.0
            if missing > 0.0:
                c0 = (c[0] + t * A[i, 0]) / (1.0 - t * t * sigma_sq[0])
                a0 = shift[i, 0] + t * sigma[0] * c0
                f = _aside(a0, c0, sigma[0], q[0], y, missing)
            total, source, target = b, 0.0, 0.0
            for k in range(A.shape[1]):
                ck = (c[k] + t * A[i, k]) / (1.0 - t * t * sigma_sq[k])
                move = t * sigma[k] * ck
                if k == 0:
                    ck += y * f
                    move += f
                total += (A[i, k] + sigma[k] * move) * ck
                source += 0.5 * move * move
                target += 0.5 * (ck - c[k]) * (ck - c[k])
                if moves.size > 0:
                    moves[j, i, k] = move
            beta[j, i], s[j, i], rise_s[j, i], rise_t[j, i] = t, total, source, target


@helper
def _dot(u, v):
    """u'v, four sums side by side: one sum alone waits for each addition."""
    n = u.shape[0]
    whole = n - n % 4
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    for k in range(0, whole, 4):
        a += u[k] * v[k]
        b += u[k + 1] * v[k + 1]
        c += u[k + 2] * v[k + 2]
        d += u[k + 3] * v[k + 3]
    for k in range(whole, n):
        a += u[k] * v[k]
    return (a + b) + (c + d)


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
def _newton_code(H, r, p, y, tau, curvature, cap, at, x, pull, curved, tol):
    """argmin x'Hx/2 - r'x + phi(y p'x) on the simplex, phi with slope -clip(tau - curvature
    (y p'x - at), 0, cap): a QP within the bounds, and one with the bound for the slope beyond them.

    x (1 x h) start and result; pull (1 x h) and curved (h x h) are work space.
    """
    h = r.shape[0]
    full = y * (tau + curvature * at)
    for k in range(h):
        pull[0, k] = r[k] + full * p[k]
        f = curvature * p[k]
        for l in range(h):
            curved[k, l] = H[k, l] + f * p[l]
    simplex_qp(curved, pull, x, tol, 20 * h + 100)
    beta = tau - curvature * (y * _dot(p, x[0]) - at)
    if beta < 0.0 or beta > cap:
        beta = y * min(max(beta, 0.0), cap)
        for k in range(h):
            pull[0, k] = r[k] + beta * p[k]
        simplex_qp(H, pull, x, tol, 20 * h + 100)


@helper
def _multiplier(m, k, ridge, cap):
    """The best tau of the target code for slack m = 1 - y s0 and k = |W'z_s|^2 in H_t^-1, without
    and with its bounds.
    """
    curvature = 1.0 / max(k + ridge, FLATTEST)
    free = m * curvature
    return free, min(max(free, 0.0), cap), curvature


@helper
def _envelope(m, k, ridge, cap):
    """min over z_t of p_D + omega loss, above the minimum of p_D."""
    tau = _multiplier(m, k, ridge, cap)[1]
    return tau * m - 0.5 * tau * tau * (k + ridge)


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


@helper
def _gradient(r, f, y, b, ridge, cap, s0, k, Hz, Kz, g):
    """g = grad F = H z - r - beta W z_t at the present code; returns F - p_B."""
    m = 1.0 - y * (s0 + b)
    beta = y * _multiplier(m, k, ridge, cap)[1]
    for l in range(g.shape[0]):
        g[l] = Hz[l] - r[l] - beta * (f[l] + beta * Kz[l])
    return _envelope(m, k, ridge, cap)


@helper
def _segment(H, K, r, f, y, b, ridge, cap, z, x, Hz, Kz, Hd, Kd, d, slope, quad, s0, k):
    """Move z towards x as far as F falls enough, with H z and K z in step.

    Returns (share of the way, p_B, z'f, k).
    """
    for l in range(z.shape[0]):
        d[l] = x[l] - z[l]
    _sparse_product(H, d, Hd)
    _sparse_product(K, d, Kd)
    q1, q2 = _dot(d, Hz) - _dot(r, d), _dot(d, Hd)
    f1, k1, k2 = _dot(f, d), 2.0 * _dot(d, Kz), _dot(d, Kd)
    m = 1.0 - y * (s0 + b)
    value, t = quad + _envelope(m, k, ridge, cap), 1.0
    while True:
        now = quad + t * q1 + 0.5 * t * t * q2
        now += _envelope(m - t * y * f1, k + t * k1 + t * t * k2, ridge, cap)
        if now <= value + 1e-4 * t * slope:
            break
        t *= 0.5
        if t < 1e-6:
            return 0.0, quad, s0, k
    for l in range(z.shape[0]):
        z[l] = x[l] if t == 1.0 else z[l] + t * d[l]
        Hz[l] += t * Hd[l]
        Kz[l] += t * Kd[l]
    return t, quad + t * q1 + 0.5 * t * t * q2, s0 + t * f1, k + t * k1 + t * t * k2


@helper
def _descend(H, K, r, f, y, b, omega, squared, x, work, scale, tol, max_rounds):
    """Minimise F(z) = z'Hz/2 - r'z + min over z_t of p_D + omega loss, z on the simplex, from x[0].

    Projected gradients with steps by the curvature last met find the face; Newton steps in the
    score, with the pull W z_t of the present target code, finish on it. F falls at each step.
    Returns (tau, s0 without b, p_B, k); the code is work[0].
    """
    ridge, cap = _bend(omega, squared)
    z, Hz, Kz, g, old, Hd, Kd, d, v = work[:9]
    for l in range(z.shape[0]):
        z[l] = x[0, l]
    _sparse_product(H, z, Hz)
    _sparse_product(K, z, Kz)
    quad, s0, k = 0.5 * _dot(z, Hz) - _dot(r, z), _dot(f, z), _dot(z, Kz)
    above = _gradient(r, f, y, b, ridge, cap, s0, k, Hz, Kz, g)
    step = 1.0 / scale
    for _ in range(GRADIENT_STEPS):
        for l in range(z.shape[0]):
            v[l] = z[l] - step * g[l]
        _project(v, x[0])
        slope = 0.0
        for l in range(z.shape[0]):
            slope += g[l] * (x[0, l] - z[l])
        if -slope <= GRADIENT_TOL * (abs(quad) + above):
            break
        for l in range(z.shape[0]):
            old[l] = g[l]
        t, quad, s0, k = _segment(
            H, K, r, f, y, b, ridge, cap, z, x[0], Hz, Kz, Hd, Kd, d, slope, quad, s0, k
        )
        if t == 0.0:
            break
        above = _gradient(r, f, y, b, ridge, cap, s0, k, Hz, Kz, g)
        bend = 0.0
        for l in range(z.shape[0]):
            bend += d[l] * (g[l] - old[l])
        step = min(t * _dot(d, d) / bend, 1e6 * step) if bend > 0.0 else 2.0 * step
    for _ in range(max_rounds):
        free, tau, curvature = _multiplier(1.0 - y * (s0 + b), k, ridge, cap)
        for l in range(z.shape[0]):
            v[l] = f[l] + y * tau * Kz[l]
            x[0, l] = z[l]
        at = y * _dot(v, z)
        _newton_code(H, r, v, y, free, curvature, cap, at, x, work[9:10], work[10:], 1e-11 * scale)
        slope = 0.0
        for l in range(z.shape[0]):
            slope += (Hz[l] - r[l] - y * tau * v[l]) * (x[0, l] - z[l])
        if -slope <= tol * (abs(quad) + above + omega):
            break
        t, quad, s0, k = _segment(
            H, K, r, f, y, b, ridge, cap, z, x[0], Hz, Kz, Hd, Kd, d, slope, quad, s0, k
        )
        if t == 0.0:
            break
        above = _envelope(1.0 - y * (s0 + b), k, ridge, cap)
    return _multiplier(1.0 - y * (s0 + b), k, ridge, cap)[1], s0, quad, k


@kernel
def best_simplex_pairs(
    H, K, R, F, starts, base, curved, b, Y, omega, squared, size, tol, max_rounds,
    beta, s, source, target, codes,
):  # fmt: skip
    """The best codes of all pairs where source codes lie on the simplex: a local maximum.

    H: h x h and R: C x h, p_B = z'Hz/2 - r_i'z; K = W H_t^-1 W'; F: N x h (W z_t0); starts: n x C
    x h, of which each pair takes the best, with base and curved (n x C), their p_B and z'Kz; Y,
    omega: N x C signs and weights; size: of the entries of H and R. Out, N x C each: beta, scores
    s, p_B, and by how much p_D rises; codes (N x C x h, or empty).
    """
    n_starts, n_classes, h = starts.shape
    x, work = np.empty((1, h)), np.empty((10 + h, h))
    for j in range(F.shape[0]):
        for i in range(n_classes):
            y = Y[j, i]
            weight = omega[j, i] if y != 0.0 else 0.0
            best, lowest = 0, np.inf
            for u in range(n_starts):
                value = base[u, i]
                if weight > 0.0:
                    ridge, cap = _bend(weight, squared)
                    m = 1.0 - y * (_dot(F[j], starts[u, i]) + b)
                    value += _envelope(m, curved[u, i], ridge, cap)
                if value < lowest:
                    best, lowest = u, value
            for l in range(h):
                x[0, l] = work[0, l] = starts[best, i, l]
            tau, s0, quad, k = 0.0, _dot(F[j], x[0]), base[best, i], curved[best, i]
            if best > 0 or (weight > 0.0 and y * (s0 + b) < 1.0):
                tau, s0, quad, k = _descend(
                    H, K, R[i], F[j], y, b, weight, squared, x, work, size, tol, max_rounds
                )
            beta[j, i], s[j, i] = y * tau, s0 + y * tau * k + b
            source[j, i], target[j, i] = quad, 0.5 * tau * tau * k
            if codes.size > 0:
                for l in range(h):
                    codes[j, i, l] = work[0, l]
