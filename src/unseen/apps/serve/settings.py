"""What a service allows; every number that protects it is here."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field

from unseen.errors import InputError

LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Limits:
    """The largest request, and how much may be under way at a time.

    body : bytes of a request, counted as they arrive.
    bodies : bytes of all requests that are being received.
    rows, pairs, pictures : of one request.
    pixels : of one picture, looked at before it is decoded.
    k : the most candidates or rows that an answer holds.
    threads, waiting : how many requests are computed at a time, and how many may wait.
    seconds : of one request, from its first byte to its answer.
    """

    body: int = 32 * 2**20
    bodies: int = 256 * 2**20
    rows: int = 1024
    pairs: int = 65_536
    pictures: int = 16
    pixels: int = 40_000_000
    k: int = 1000
    threads: int = 2
    waiting: int = 64
    seconds: float = 30.0


@dataclass(frozen=True)
class Settings:
    """Where a service listens and whom it answers.

    token : what a caller must know; "" on a loopback address for anyone on this machine.
    names : further names under which the machine is reached, for the check of `Host`.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    token: str = ""
    names: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if not is_loopback(self.host) and not self.token:
            raise InputError(
                f"--host {self.host} can be reached from other machines, so a token is needed: "
                "give --token, or set UNSEEN_TOKEN"
            )
        if self.token and (len(self.token) < 8 or not self.token.isascii() or " " in self.token):
            raise InputError("a token has at least 8 characters of ASCII, without spaces")


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    if host.casefold() in LOOPBACK:
        return True
    address = as_address(host)
    return address is not None and address.is_loopback


def as_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The number that a host is given by, or None if it is a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
