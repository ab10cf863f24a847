"""What a stranger may not do, one rule a file: layers around the application (plain ASGI)."""
