"""Block problems of the joint objective, one a file: plain functions that return a `Solution`."""
