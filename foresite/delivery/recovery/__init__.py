"""The remains of an interrupted run, and the explanation of each step that repairs them."""
