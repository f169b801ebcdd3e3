"""Host lists from the inventories of others, and hosts compared with what was inspected."""
