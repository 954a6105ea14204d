"""How the shipped models are trained: data, one loop for all, one recipe a model. Nothing else of attnviz needs it."""
