"""Dask: the same blocks of rows elsewhere (extra `dask`); imported only where Dask is used."""
