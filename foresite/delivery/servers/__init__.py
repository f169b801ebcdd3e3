"""The API servers of a site: are they there, do they serve what it makes, what do they hold."""
