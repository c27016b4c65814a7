"""Programs: reading, checking and linking the workflows of a module. Pure: runs nothing of them."""
