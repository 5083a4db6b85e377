// Empty: this target exists for its precompiled header.
