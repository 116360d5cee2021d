package session

// HeldLimit is heldLimit.
const HeldLimit = heldLimit
