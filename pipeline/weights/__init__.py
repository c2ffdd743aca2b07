"""What is inside of a model: the weights of its lanes, shown, compared and exported."""
