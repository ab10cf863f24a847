"""Users' files, read with care, and files written whole or not at all."""
