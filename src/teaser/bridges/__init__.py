"""Our models inside other frameworks: LensKit and RecTools."""
