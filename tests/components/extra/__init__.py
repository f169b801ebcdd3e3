"""What a team brings."""
