"""Taking hold of attention on the pages: the edits of a model as a part of the address, what they change, and the way back."""
