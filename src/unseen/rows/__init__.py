"""Rows of data: blocks, scaling, kernel features."""
