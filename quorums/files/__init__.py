"""The files of a deployment: one walk reads each of them."""
