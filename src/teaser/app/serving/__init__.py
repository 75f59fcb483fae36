"""The model as it is served: loaded, copied, searched, applied to one person."""
