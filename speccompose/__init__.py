"""speccompose: speculative decoding on NVIDIA Jetson, planned, deployed and proved.

Read ``pipeline.py`` first; it is the job from top to bottom. Importing this package does nothing.
"""

__version__ = "0.1.0"
