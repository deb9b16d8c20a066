"""The engine written down plainly, one value or row at a time, for the vectorised one to be compared with."""
