"""Speed and accuracy, measured: each script prints a table, each figure beside its rival."""
