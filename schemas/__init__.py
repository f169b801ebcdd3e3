"""The data of a site: typed model, catalogue, cross-field rules, and the only reader of YAML."""
