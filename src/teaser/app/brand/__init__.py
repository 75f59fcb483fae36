"""The name, colours and logo of a site."""
