"""Measurements of the tests: how long they take, what each proves, which mutations they notice."""
