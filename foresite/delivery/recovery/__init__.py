"""What an interrupted run has left, and what explains each step that mends it."""
