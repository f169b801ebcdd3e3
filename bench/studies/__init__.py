"""Measurements behind one decision or one page of docs/, repeated only when that is in doubt."""
