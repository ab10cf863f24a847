"""How good a model is: protocols and tuning."""
