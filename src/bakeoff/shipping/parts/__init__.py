"""What a shipped `predict.py` is made of: `bundle` puts the parts that a model needs into one file.

Parts are small classes with a constructor that `recipe` wires; they may import from bakeoff, whose definitions are then copied.
"""
