"""The needs of the repository besides Python: pinned, found or built, never guessed."""
