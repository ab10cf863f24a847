"""Files that users bring, read with care, and files written whole or not at all."""

from unseen.files.reading import (
    Sources,
    array_names,
    checked_path,
    first,
    mat_strings,
    not_utf8,
    pick,
    read_lines,
    read_mat,
    read_npy,
    read_npz,
    sha256,
    whole,
)
from unseen.files.writing import writing

__all__ = [
    "Sources",
    "array_names",
    "checked_path",
    "first",
    "mat_strings",
    "not_utf8",
    "pick",
    "read_lines",
    "read_mat",
    "read_npy",
    "read_npz",
    "sha256",
    "whole",
    "writing",
]
