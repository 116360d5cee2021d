// Package export turns a recorded screen (an asciicast) into pictures: an
// animated GIF or SVG, or a PNG of one moment.
//
// It reads casts, times the frames, and draws cells as pixels or as SVG. It draws box
// drawing, blocks, braille and the screen's signs that the font lacks. It knows nothing
// of a screen's meaning.
package export
