"""What a site may say: typed model, catalogue, cross-field rules, and the only reader of YAML."""
