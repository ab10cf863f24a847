"""Training: initialisation and the alternating algorithm."""
