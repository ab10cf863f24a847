"""Pairs of a class and a row: their labels, their weights, the loss."""
