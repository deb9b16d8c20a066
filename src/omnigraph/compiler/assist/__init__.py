"""What editors ask about a text: what could stand at a place, what a name means, what is wrong."""
