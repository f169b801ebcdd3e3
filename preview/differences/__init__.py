"""The differences between two states: objects, their fields, and the edits behind them."""
