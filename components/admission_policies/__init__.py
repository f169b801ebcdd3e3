"""Rules that hold in the site's clusters, whoever deploys."""
