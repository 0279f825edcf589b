"""What Ansible ships to a board: one self-contained module. Layer: fleet."""
