"""Independent solutions against which the library is tested: slow, plain, sharing no code."""
