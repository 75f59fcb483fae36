"""Extensions of the paper's model, one file each."""
