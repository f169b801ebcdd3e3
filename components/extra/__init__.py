"""What a team brings: manifests and charts, registered beside Foresite's own objects."""
