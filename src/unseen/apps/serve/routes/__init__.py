"""The endpoints, by what they are for."""
