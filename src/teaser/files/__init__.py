"""Files that somebody named: opened if they are regular, read as far as the memory goes."""
