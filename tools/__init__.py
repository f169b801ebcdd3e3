"""What the repository needs besides Python: pinned, found or built, never guessed."""
