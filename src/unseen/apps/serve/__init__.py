"""The service: a trained model behind HTTP, and the page on which a person uses it."""
