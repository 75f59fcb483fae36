"""The web application: the site, the API under it, and the state of the people who use them."""
