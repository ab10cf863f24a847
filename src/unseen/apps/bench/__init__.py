"""Benchmarks: any data sets, any methods, repeated trials, tables; and sweeps of one parameter."""
