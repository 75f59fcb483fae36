"""The documentation site: pages made from the program, the source tree of the site, its build."""
