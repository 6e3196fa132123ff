"""Section 4.3 of paper 001: the hyperparameters of a convolutional network for CIFAR-10, many trainings at once.

``images`` reads the data, ``training`` has the space and trains one configuration on a GPU, ``run`` lets each method
choose configurations for several worker processes, trains the best ones longer, and draws what came of it.
"""
