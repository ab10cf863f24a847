"""Pictures and words to vectors."""
