"""Words and phrases of three languages: tokens, stems, misspellings, titles and the lexicon."""
