// Nothing: what is wanted of this target is its precompiled header.
