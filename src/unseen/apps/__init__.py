"""What stands on top of the library: command line, benchmarks, pages, plots."""
