"""What every room leans on: checks of values, parts of estimators, threads, progress."""
